import Backends
import Testing
import TransferModel

@testable import CometChatBackend

@Suite("Downloads")
struct DownloadTests {
  private static let file = #"{"url":"https://m.example.com/x/1?Signature=s","name":"a.png"}"#
  private static let other = #"{"url":"https://m.example.com/x/2?Signature=s","name":"b.png"}"#
  private static let message = answer(
    #"{"data":{"id":7,"sender":"bob","receiver":"alice","receiverType":"user","#
      + #""data":{"attachments":[\#(file),\#(other)]}}}"#
  )
  private static let denied = HTTPResponse(
    status: 403,
    body: Array("<Error><Code>AccessDenied</Code><Message>Access denied</Message></Error>".utf8)
  )
  private static let whole = HTTPResponse(
    status: 206,
    headers: [HTTPHeader("Content-Range", "bytes 0-4/5"), HTTPHeader("ETag", "\"e\"")],
    body: [1, 2, 3, 4, 5]
  )
  private static let inMessage = FileLocator.message(channel: "user:bob", Timetoken(7))

  private func download(
    _ locator: FileLocator,
    fileID: String? = nil,
    base: String = "https://app1.apiclient-us.cometchat.io/v3.0"
  ) throws -> any Backend {
    try remote(base: base).download(
      spec(.downloadFile(DownloadFile(locator, target: .temporary, fileID: fileID)))
    )
  }

  @Test("A message tells the address, and its storage gets nothing of ours")
  func byMessage() throws {
    var download = try download(Self.inMessage)
    #expect(download.next().request?.path == "/v3.0/messages/7")
    download.receive(.answered(id: 0, Self.message))
    let range = try #require(download.next().request)
    #expect(range.url == "https://m.example.com/x/1?Signature=s")
    #expect(range.lane == .bulk)
    download.receive(.answered(id: 0, Self.whole))
    guard case .content(.openTarget(let content)) = download.next() else {
      Issue.record("the target is not opened")
      return
    }
    #expect(content.name == "a.png")
    #expect(content.size == 5)
  }

  @Test("Of several files the one that was named is fetched; one that is not there is not found")
  func byFile() throws {
    var second = try download(Self.inMessage, fileID: "x/2")
    _ = second.next()
    second.receive(.answered(id: 0, Self.message))
    #expect(second.next().request?.path == "/x/2")
    var none = try download(Self.inMessage, fileID: "x/3")
    _ = none.next()
    none.receive(.answered(id: 0, Self.message))
    let error = try #require(none.next().error)
    #expect(error.code == .notFound)
    #expect(error.field == "/id")
  }

  @Test("The message is asked for a new address, three times in all")
  func expired() throws {
    var download = try download(Self.inMessage)
    for _ in 0..<3 {
      #expect(download.next().request?.path == "/v3.0/messages/7")
      download.receive(.answered(id: 0, Self.message))
      _ = download.next()
      download.receive(.answered(id: 0, Self.denied))
    }
    let error = try #require(download.next().error)
    #expect(error.code == .presignedURLExpired)
    #expect(error.isRetryable)
  }

  @Test("An address alone cannot be renewed")
  func byURL() throws {
    var download = try download(.url("https://m.example.com/x/a%20b.png?Signature=s"))
    #expect(download.next().request?.path == "/x/a%20b.png")
    download.receive(.answered(id: 0, Self.denied))
    let error = try #require(download.next().error)
    #expect(error.code == .presignedURLExpired)
    #expect(!error.isRetryable)
    #expect(!error.message.contains("Signature"))
  }

  @Test("A message of another conversation is not told")
  func foreign() throws {
    var download = try download(.message(channel: "user:carol", Timetoken(7)))
    _ = download.next()
    download.receive(.answered(id: 0, Self.message))
    #expect(download.next().error?.code == .notFound)
  }

  @Test("Without TLS nothing is fetched, unless the remote itself is asked so")
  func addresses() throws {
    let plain = FileLocator.url("http://127.0.0.1/x")
    let error = #expect(throws: TransferError.self) { try download(plain) }
    #expect(error?.code == .invalidURL)
    #expect(throws: Never.self) { try download(plain, base: "http://127.0.0.1:8080/v3.0") }
    let byName = #expect(throws: TransferError.self) {
      try download(.key(channel: "user:bob", id: "x/1", name: "a"))
    }
    #expect(byName?.code == .unsupported)
  }

  @Test("A later process goes on with the same file")
  func resumed() throws {
    var first = try download(Self.inMessage, fileID: "x/2")
    _ = first.next()
    first.receive(.answered(id: 0, Self.message))
    _ = first.next()
    let beginning = HTTPResponse(
      status: 206,
      headers: [
        HTTPHeader("Content-Range", "bytes 0-524287/2097152"), HTTPHeader("ETag", "\"e\""),
      ],
      body: [UInt8](repeating: 1, count: 512 << 10)
    )
    first.receive(.answered(id: 0, beginning))
    _ = first.next()
    first.receive(.targetOpened(isKept: false))
    _ = first.next()
    first.receive(.written)
    let checkpoint = try #require(first.checkpoint)
    var second = try download(Self.inMessage)
    second.recover(checkpoint)
    #expect(second.next().request?.path == "/v3.0/messages/7")
    second.receive(.answered(id: 0, Self.message))
    _ = second.next()
    second.receive(.targetOpened(isKept: true))
    let range = try #require(second.next().request)
    #expect(range.path == "/x/2")
    #expect(range.header("Range") == "bytes=524288-2097151")
  }
}
