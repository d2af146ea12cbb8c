import Backends
import Configuration
import Crypto
import Testing
import TransferModel

@testable import PubNubBackend

@Suite("Downloads")
struct DownloadTests {
  private static let url = "https://files.example.com/sub/H/f1/a%20b.txt?X-Amz-Signature=s"
  private static let redirect = HTTPResponse(
    status: 307,
    headers: [HTTPHeader("Location", url)]
  )

  private func partial(
    _ range: Range<Int64>,
    of size: Int64,
    etag: String = "\"e\"",
    delivered: Bool = false
  ) -> HTTPResponse {
    HTTPResponse(
      status: 206,
      headers: [
        HTTPHeader(
          "Content-Range",
          "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        ),
        HTTPHeader("ETag", etag),
      ],
      body: delivered ? [] : [UInt8](repeating: 7, count: range.count),
      delivered: delivered ? Int64(range.count) : 0
    )
  }

  /// A conversation up to the first range, whose answer comes next.
  private func begun(
    _ remote: PubNubRemote = remote(),
    target: TransferTarget = .temporary
  ) throws -> any Backend {
    var download = try remote.download(downloadSpec(target: target))
    let question = remote.contentRequest(channel: "ch", id: "f1", name: "a b.txt")
    #expect(download.next().request == question)
    download.receive(.answered(id: 0, Self.redirect))
    return download
  }

  private let MiB: Int64 = 1 << 20
  /// What is asked for before the size is known.
  private let first: Int64 = 512 << 10

  @Test("A small file takes two requests, and the storage gets nothing of ours")
  func small() throws {
    let remote = remote { $0.authToken = Secret("t") }
    var download = try begun(remote)
    let request = try #require(download.next().request)
    #expect(try remote.authorize(request, nowMs: 0).url == Self.url)
    #expect(request.headers == [HTTPHeader("Range", "bytes=0-524287")])
    download.receive(.answered(id: 0, partial(0..<5, of: 5)))
    #expect(
      download.next()
        == .content(.openTarget(.init(size: 5, name: "a b.txt", identity: "\"e\"/5")))
    )
    download.receive(.targetOpened(isKept: false))
    #expect(download.next() == .content(.write([7, 7, 7, 7, 7], at: 0)))
    download.receive(.written)
    #expect(download.settled == 5)
    #expect(download.next() == .content(.finishTarget))
  }

  @Test("The rest of a large file goes straight to the target")
  func large() throws {
    var download = try begun()
    _ = download.next()
    download.receive(.answered(id: 0, partial(0..<first, of: 10 * MiB)))
    download.receive(.targetOpened(isKept: false))
    download.receive(.written)
    #expect(download.next() == .content(.remember))
    download.receive(.remembered)
    var request = try #require(download.next().request)
    #expect(request.header("Range") == "bytes=\(first)-\(first + 8 * MiB - 1)")
    #expect(request.sink == .target(offset: first, length: 8 * MiB))
    download.receive(
      .answered(id: 0, partial(first..<first + 8 * MiB, of: 10 * MiB, delivered: true))
    )
    request = try #require(download.next().request)
    #expect(request.header("Range") == "bytes=\(first + 8 * MiB)-\(10 * MiB - 1)")
    // Paused and resumed: the same is asked again.
    download.receive(.interrupted(id: 0))
    #expect(download.next().request == request)
    download.receive(
      .answered(id: 0, partial(first + 8 * MiB..<10 * MiB, of: 10 * MiB, delivered: true))
    )
    #expect(download.next() == .content(.finishTarget))
  }

  @Test("Streams and replies take the bytes in order")
  func streams() throws {
    var download = try begun(target: .stream)
    _ = download.next()
    download.receive(.answered(id: 0, partial(0..<first, of: first + 3)))
    download.receive(.targetOpened(isKept: false))
    download.receive(.written)
    let request = try #require(download.next().request)
    #expect(request.sink == .memory(limit: 3))
    download.receive(.answered(id: 0, partial(first..<first + 3, of: first + 3)))
    #expect(download.next() == .content(.write([7, 7, 7], at: first)))
  }

  @Test("Encrypted files are decrypted on the way, in order, whatever the target")
  func encryption() throws {
    var download = try begun(remote(encrypted))
    _ = download.next()
    download.receive(.answered(id: 0, partial(0..<first, of: 2 * MiB)))
    guard case .content(.openTarget(let incoming)) = download.next() else {
      Issue.record("no target")
      return
    }
    #expect(incoming.cipher == ContentCipher(cipherKey: "enigma"))
    download.receive(.targetOpened(isKept: false))
    download.receive(.written)
    #expect(download.next().request?.sink == .memory(limit: 512 << 10))
    #expect(download.checkpoint == nil)
  }

  @Test("Empty files, however the storage says so")
  func empty() throws {
    let headers = [HTTPHeader("Content-Range", "bytes */0")]
    for response in [
      HTTPResponse(status: 416, headers: headers), HTTPResponse(status: 416),
      HTTPResponse(status: 200),
    ] {
      var download = try begun()
      _ = download.next()
      download.receive(.answered(id: 0, response))
      guard case .content(.openTarget(let incoming)) = download.next() else {
        Issue.record("no target")
        return
      }
      #expect(incoming.size == 0)
      download.receive(.targetOpened(isKept: false))
      #expect(download.next() == .content(.finishTarget))
    }
  }

  @Test("A storage that sends all of a small file is understood; of a large one it is not")
  func noRanges() throws {
    var download = try begun()
    _ = download.next()
    download.receive(.answered(id: 0, HTTPResponse(status: 200, body: [1, 2])))
    #expect(download.next() != .content(.finishTarget))
    var cut = try begun()
    _ = cut.next()
    cut.receive(
      .answered(
        id: 0,
        HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: 1 << 20), isCut: true)
      )
    )
    #expect(cut.next().error?.code == .server)
    // So it is where only the first range was one.
    var later = try begun()
    _ = later.next()
    later.receive(.answered(id: 0, partial(0..<first, of: 2 * MiB)))
    _ = later.next()
    later.receive(.targetOpened(isKept: false))
    later.receive(.written)
    if later.next() == .content(.remember) { later.receive(.remembered) }
    _ = later.next()
    later.receive(.answered(id: 0, HTTPResponse(status: 200, isCut: true)))
    #expect(later.next().error?.message == cut.next().error?.message)
  }

  @Test("Redirects lead on, without credentials, and not for ever")
  func redirects() throws {
    var download = try begun()
    for hop in 2...5 {
      let location = hop == 3 ? "/relative?x=1" : "https://other.example.com/\(hop)"
      let response = HTTPResponse(
        status: [301, 302, 303, 308][hop - 2],
        headers: [HTTPHeader("Location", location)]
      )
      _ = download.next()
      download.receive(.answered(id: 0, response))
      let request = try #require(download.next().request)
      #expect(request.lane == .bulk)
      if hop == 3 { #expect(request.url == "https://other.example.com/relative?x=1") }
    }
    download.receive(.answered(id: 0, Self.redirect))
    #expect(download.next().error?.code == .server)
  }

  @Test(
    "Redirects that cannot be followed end it",
    arguments: [nil, "ftp://x/y", "//x/y", "", "http://u:p@x/", "http://x/\u{e9}"] as [String?]
  )
  func badRedirects(_ location: String?) throws {
    var download = try remote().download(downloadSpec())
    _ = download.next()
    let headers = location.map { [HTTPHeader("Location", $0)] } ?? []
    download.receive(.answered(id: 0, HTTPResponse(status: 307, headers: headers)))
    #expect(download.next().error?.code == .invalidURL)
  }

  @Test("From https it never leads to http")
  func downgrade() throws {
    var download = try remote { $0.origin = "https://ps.pndsn.com" }.download(downloadSpec())
    _ = download.next()
    let headers = [HTTPHeader("Location", "http://x/y")]
    download.receive(.answered(id: 0, HTTPResponse(status: 307, headers: headers)))
    #expect(download.next().error?.code == .invalidURL)
  }

  @Test("A URL that expired is asked for again, and it goes on from there")
  func expiry() throws {
    let remote = remote()
    var download = try begun(remote)
    _ = download.next()
    download.receive(.answered(id: 0, partial(0..<first, of: 2 * MiB)))
    download.receive(.targetOpened(isKept: false))
    download.receive(.written)
    download.receive(.remembered)
    let xml = "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
    for _ in 0..<2 {
      _ = download.next()
      download.receive(.answered(id: 0, answer(xml, 403)))
      #expect(
        download.next().request == remote.contentRequest(channel: "ch", id: "f1", name: "a b.txt")
      )
      download.receive(.answered(id: 0, Self.redirect))
      #expect(download.next().request?.header("Range") == "bytes=\(first)-\(2 * MiB - 1)")
    }
    download.receive(.answered(id: 0, answer(xml, 403)))
    #expect(download.next().error?.code == .permissionDenied)
  }

  @Test("URLs may expire any number of times while bytes come")
  func expiryOfMany() throws {
    var download = try begun()
    _ = download.next()
    download.receive(.answered(id: 0, partial(0..<first, of: 1 << 30)))
    download.receive(.targetOpened(isKept: false))
    download.receive(.written)
    download.receive(.remembered)
    let xml = "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
    for piece in 0..<6 {
      _ = download.next()
      download.receive(.answered(id: 0, answer(xml, 403)))
      #expect(download.next().error == nil)
      download.receive(.answered(id: 0, Self.redirect))
      _ = download.next()
      let start = first + Int64(piece) * 8 * MiB
      download.receive(
        .answered(id: 0, partial(start..<start + 8 * MiB, of: 1 << 30, delivered: true))
      )
      #expect(download.settled == start + 8 * MiB)
    }
  }

  @Test("Ranges without bytes end it, wherever they go", arguments: [true, false])
  func noBytes(_ isFile: Bool) throws {
    var download = try begun(target: isFile ? .temporary : .stream)
    _ = download.next()
    download.receive(.answered(id: 0, partial(0..<first, of: 2 * MiB)))
    download.receive(.targetOpened(isKept: false))
    download.receive(.written)
    if isFile { download.receive(.remembered) }
    _ = download.next()
    var empty = partial(first..<2 * MiB, of: 2 * MiB)
    empty.body = []
    download.receive(.answered(id: 0, empty))
    #expect(download.next().error?.code == .server)
  }

  @Test("Refusals of PubNub and of the storage keep their words")
  func refusals() throws {
    var download = try remote().download(downloadSpec())
    _ = download.next()
    download.receive(.answered(id: 0, answer(#"{"message":"Forbidden"}"#, 403)))
    #expect(download.next().error?.code == .permissionDenied)
    var gone = try begun()
    _ = gone.next()
    let xml = "<Error><Code>NoSuchKey</Code><Message>not there</Message></Error>"
    gone.receive(.answered(id: 0, answer(xml, 404)))
    #expect(gone.next().error?.code == .notFound)
    #expect(gone.next().error?.serverCode == "NoSuchKey")
  }

  @Test("Other bytes than were asked for, and content that changed, end it")
  func wrongBytes() throws {
    for response in [
      partial(3..<first, of: 2 * MiB), partial(first..<2 * MiB, of: 3 * MiB),
      partial(first..<2 * MiB, of: 2 * MiB, etag: "\"other\""), HTTPResponse(status: 200),
    ] {
      var download = try begun()
      _ = download.next()
      download.receive(.answered(id: 0, partial(0..<first, of: 2 * MiB)))
      download.receive(.targetOpened(isKept: false))
      download.receive(.written)
      download.receive(.remembered)
      _ = download.next()
      download.receive(.answered(id: 0, response))
      #expect(download.next().error?.isRetryable == true)
    }
  }

  @Test("A later process goes on where the part ends")
  func recovery() throws {
    let remote = remote()
    var first = try begun(remote)
    _ = first.next()
    first.receive(.answered(id: 0, partial(0..<self.first, of: 3 * MiB)))
    first.receive(.targetOpened(isKept: false))
    first.receive(.written)
    let checkpoint = try #require(first.checkpoint)
    for isKept in [true, false] {
      var later = try remote.download(downloadSpec())
      later.recover(checkpoint)
      _ = later.next()
      later.receive(.answered(id: 0, Self.redirect))
      #expect(
        later.next()
          == .content(
            .openTarget(.init(size: 3 * MiB, name: "a b.txt", identity: "\"e\"/\(3 * MiB)"))
          )
      )
      later.receive(.targetOpened(isKept: isKept))
      let start = isKept ? self.first : 0
      #expect(later.next().request?.header("Range") == "bytes=\(start)-\(3 * MiB - 1)")
    }
  }

  @Test("A message of any moment can be asked for", arguments: [0, Int64.max])
  func anyMoment(_ value: Int64) throws {
    var download = try remote().download(downloadSpec(.message(channel: "ch", Timetoken(value))))
    #expect(download.next().request?.query.contains("end=\(value)&") == true)
  }

  @Test("A file is found by the message that announced it")
  func byMessage() throws {
    let remote = remote()
    var download = try remote.download(downloadSpec(.message(channel: "ch", Timetoken(17))))
    let request = try #require(download.next().request)
    #expect(request.path == "/v3/history/sub-key/sub/channel/ch")
    #expect(request.query.contains("end=17&"))
    #expect(request.query.contains("start=18"))
    let entry = #"{"message":{"file":{"id":"f9","name":"n"}},"timetoken":"17","message_type":4}"#
    download.receive(.answered(id: 0, answer(#"{"channels":{"ch":[\#(entry)]}}"#)))
    #expect(download.next().request == remote.contentRequest(channel: "ch", id: "f9", name: "n"))
    for body in [
      #"{"channels":{}}"#, #"{"channels":{"ch":[{"message":"x","timetoken":"17"}]}}"#,
    ] {
      var other = try remote.download(downloadSpec(.message(channel: "ch", Timetoken(17))))
      _ = other.next()
      other.receive(.answered(id: 0, answer(body)))
      #expect(other.next().error?.code == .notFound)
    }
  }
}
