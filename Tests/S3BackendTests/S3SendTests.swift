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

  @Test(
    "A message is sent while it is fresh, a quarter of the settle window, else under a new name",
    arguments: [(10, 2500), (120, 30_000), (3600, 30_000)] as [(Int64, Int64)]
  )
  func late(_ windowSeconds: Int64, _ freshMs: Int64) throws {
    let remote = makeRemote { $0.settleWindowMs = windowSeconds * 1000 }
    var talk = try conversation(remote)
    try store(&talk)
    let first = try late(&talk, remote, now + freshMs)
    #expect(first.answerTimeout == .milliseconds(2 * freshMs))
    // It may have been written by an attempt before.
    var written = talk
    try written.ask("HEAD \(first.path)", answer(200))
    _ = try written.result()
    _ = remote.judge(answer(404), to: remote.probe, nowMs: now + freshMs + 1)
    try talk.ask("HEAD \(first.path)", answer(404))
    let kept = talk.backend.checkpoint
    talk.perform(.remember, .remembered)
    #expect(talk.backend.checkpoint == kept)
    #expect(try publication(&talk).path != first.path)
    _ = try talk.result()
  }

  /// The next step has to be a message that is authorized at that moment for the last time.
  private func late(
    _ talk: inout Conversation,
    _ remote: S3Remote,
    _ nowMs: Int64
  ) throws -> HTTPRequest {
    guard case .http(let exchange) = talk.backend.next() else {
      throw TransferError(.unknown, "no exchange")
    }
    _ = try remote.authorize(exchange.request, nowMs: nowMs)
    let error = #expect(throws: TransferError.self) {
      try remote.authorize(exchange.request, nowMs: nowMs + 1)
    }
    talk.backend.receive(.failed(id: exchange.id, try #require(error)))
    return exchange.request
  }

  @Test("A message that is late again and again is given up, and looked for when it is tried again")
  func alwaysLate() throws {
    let remote = makeRemote()
    var talk = try conversation(remote)
    try store(&talk)
    for attempt in 1...4 {
      let nowMs = now + Int64(attempt) * 31_000
      let request = try late(&talk, remote, nowMs - 1000)
      _ = remote.judge(answer(404), to: remote.probe, nowMs: nowMs)
      try talk.ask("HEAD \(request.path)", answer(404))
      talk.perform(.remember, .remembered)
    }
    let last = try late(&talk, remote, now + 5 * 31_000 - 1000)
    let error = try talk.failure()
    #expect(error.code == .server)
    #expect(error.phase == .publish)
    talk.backend.restart()
    try talk.ask("HEAD \(last.path)", answer(200))
    _ = try talk.result()
  }

  @Test("Who may not look writes a message of the same name, however late")
  func blind() throws {
    let remote = makeRemote()
    var talk = try conversation(remote)
    try store(&talk)
    let request = try late(&talk, remote, now + 30_000)
    try talk.ask("HEAD \(request.path)", answer(403))
    let again = try publication(&talk)
    #expect(again.path == request.path)
    _ = try remote.authorize(again, nowMs: now + 3_600_000)
  }

  @Test("How old a message is, is known by the server's clock, also where it is not there")
  func clocks() throws {
    var first = try conversation()
    try store(&first)
    let put = try publication(&first)
    let kept = try #require(first.backend.checkpoint)
    let remote = makeRemote()
    var later = try conversation(remote, checkpoint: kept)
    // This machine's clock is an hour behind.
    _ = remote.judge(
      answer(404, ["Date": "Sun, 30 Aug 2015 12:37:00 GMT"]),
      to: remote.request(.head, "k"),
      nowMs: now - 3_600_000
    )
    try later.ask("HEAD \(put.path)", answer(404))
    later.perform(.remember, .remembered)
    let name = try #require(publication(&later).path.split(separator: "/").last)
    let age = try #require(MessageKey(String(name))).timetoken.value / 10_000 - now - 60_000
    #expect((0...1000).contains(age))
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
