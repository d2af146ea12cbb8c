import Backends
import Configuration
import JSON
import Testing
import TransferModel

@testable import S3Backend

@Suite("Sends")
struct S3SendTests {
  static let file = "/b/channels/c/files/f1/n"

  private let send = SendFile(
    channel: "c",
    name: "n",
    contentType: "text/plain",
    announcement: Announcement(
      channel: "c",
      fileID: "",
      fileName: "n",
      message: RawJSON(validated: Array("[1]".utf8))
    ),
    source: .path("/s")
  )

  private func conversation(
    _ remote: S3Remote = makeRemote(),
    checkpoint: [UInt8]? = nil
  ) throws -> Conversation {
    _ = remote.judge(page([]), to: remote.probe, nowMs: now)
    var send = try S3Send(remote, send, fileID: "f1", token: S3UploadTests.token)
    if let checkpoint { send.recover(checkpoint) }
    return Conversation(backend: send)
  }

  /// The path of the message that is sent next, and what is sent.
  private func publication(
    _ talk: inout Conversation,
    _ response: HTTPResponse = answer(200)
  ) throws -> HTTPRequest {
    guard case .http(let exchange) = talk.backend.next() else {
      throw TransferError(.unknown, "no exchange")
    }
    #expect(exchange.request.method == .put)
    #expect(exchange.request.path.hasPrefix("/b/channels/c/messages/"))
    #expect(exchange.phase == .publish)
    talk.backend.receive(.answered(id: exchange.id, response))
    return exchange.request
  }

  /// The file is stored and the name of its message kept.
  private func store(_ talk: inout Conversation) throws {
    talk.perform(.remember, .remembered)
    talk.open(size: 5, sha256: "5a")
    try talk.ask("PUT \(Self.file)", answer(200, ["ETag": "\"e\""]))
    #expect(talk.backend.unannounced == nil)
    talk.perform(.verifySource, .sourceVerified)
    talk.perform(.remember, .remembered)
  }

  @Test("The names are kept before they are used: the file's, then the message's")
  func whole() throws {
    var talk = try conversation()
    try store(&talk)
    #expect(talk.backend.unannounced?.id == "f1")
    #expect(talk.backend.settled == 5)
    let put = try publication(&talk)
    #expect(
      put.body == [
        .bytes(
          Array(
            (#"{"message":[1],"file":{"id":"f1","name":"n","size":5,"contentType":"text/plain","#
              + #""sha256":"5a"}}"#).utf8
          )
        )
      ]
    )
    guard case .shared(let shared) = try talk.result() else {
      Issue.record("not shared")
      return
    }
    #expect(MessageKey(String(put.path.split(separator: "/")[4]))?.timetoken == shared.timetoken)
    #expect(shared.file.sha256 == "5a")
    #expect(shared.url?.contains(Self.file + "?") == true)
    #expect(talk.backend.unannounced == nil)
    #expect(talk.backend.cleanUp.isEmpty)
  }

  @Test("After a kill before the file was stored, it is stored under the same name")
  func killedBefore() throws {
    var first = try conversation()
    first.perform(.remember, .remembered)
    let kept = try #require(first.backend.checkpoint)
    var second = try conversation(checkpoint: kept)
    second.open(size: 5)
    try second.ask("PUT \(Self.file)", answer(200, ["ETag": "\"e\""]))
    // Nobody goes on: what may be there goes.
    var third = try conversation(checkpoint: kept)
    third.backend.restart()
    #expect(third.backend.cleanUp.map(\.line) == ["DELETE \(Self.file)"])
  }

  @Test("After a kill it is looked whether the message is there")
  func killedAfter() throws {
    var first = try conversation()
    try store(&first)
    let put = try publication(&first)
    let kept = try #require(first.backend.checkpoint)
    // It is.
    var second = try conversation(checkpoint: kept)
    #expect(second.backend.unannounced?.id == "f1")
    #expect(second.backend.cleanUp.map(\.line) == ["DELETE \(put.path)"])
    try second.ask("HEAD \(put.path)", answer(200))
    let result = try first.result()
    #expect(try second.result() == result)
    // It is not: the same again.
    var third = try conversation(checkpoint: kept)
    try third.ask("HEAD \(put.path)", answer(404))
    #expect(try publication(&third).path == put.path)
    // It is not, and subscribers would not look so far back.
    let remote = makeRemote()
    var fourth = try conversation(remote, checkpoint: kept)
    _ = remote.judge(answer(404), to: remote.probe, nowMs: now + 31_000)
    try fourth.ask("HEAD \(put.path)", answer(404))
    fourth.perform(.remember, .remembered)
    #expect(try publication(&fourth).path != put.path)
    // Who may not look says it again.
    var fifth = try conversation(checkpoint: kept)
    try fifth.ask("HEAD \(put.path)", answer(403))
    #expect(try publication(&fifth).path == put.path)
  }

  @Test("A pause while it is announced is followed by a look, a refusal by another attempt")
  func pausedAndRefused() throws {
    var talk = try conversation()
    try store(&talk)
    guard case .http(let exchange) = talk.backend.next() else {
      Issue.record("no exchange")
      return
    }
    talk.backend.receive(.interrupted(id: exchange.id))
    try talk.ask("HEAD \(exchange.request.path)", answer(404))
    _ = try publication(&talk, fault(403, "AccessDenied"))
    let error = try talk.failure()
    #expect(error.code == .permissionDenied)
    #expect(error.phase == .publish)
    #expect(talk.backend.unannounced?.id == "f1")
    talk.backend.restart()
    try talk.ask("HEAD \(exchange.request.path)", answer(200))
    _ = try talk.result()
  }

  @Test("What is too much for a message is refused before any byte moves")
  func tooMuch() throws {
    var send = send
    send.announcement.message = RawJSON(
      validated: Array("\"\(String(repeating: "m", count: MessageBody.limit))\"".utf8)
    )
    let error = #expect(throws: TransferError.self) { try S3Send(makeRemote(), send) }
    #expect(error?.code == .invalidArgument)
    #expect(error?.field == "/message")
  }

  @Test("A file is fetched by the message that announced it, also after a kill")
  func download() throws {
    let remote = makeRemote()
    func conversation() throws -> Conversation {
      let target = TransferTarget.path("/t", overwrite: false)
      return Conversation(
        backend: try S3MessageDownload(
          remote,
          channel: "c",
          timetoken: moment(1),
          target: target
        )
      )
    }
    let list = MessageCallTests.query + "10&" + MessageCallTests.folder
    var talk = try conversation()
    try talk.ask("GET /b?\(list)\(MessageKey.prefix(of: moment(1)))", page([name(1)]))
    try talk.ask("GET /b/channels/c/messages/\(name(1))", stored("1"))
    let get = try talk.exchange("GET /b/channels/c/files/i/n")
    #expect(get.request.header("range") == "bytes=0-1048575")
    var missing = try conversation()
    try missing.ask("GET /b?\(list)\(MessageKey.prefix(of: moment(1)))", page([]))
    #expect(try missing.failure().code == .notFound)
  }
}
