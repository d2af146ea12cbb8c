import Backends
import JSON
import Testing
import TransferModel

@testable import CometChatBackend

@Suite("Damaged answers")
struct DamageTests {
  private static let answers = [
    #"{"data":{"t":\#(place(policy: "eyJleHBpcmF0aW9uIjoiMjAzMC0wMS0wMVQwMDowMDowMFoifQ=="))}}"#,
    #"{"data":{"settings":{"file.size.max":104857600,"file.count.max":"10"}}}"#,
    #"{"data":[{"id":"7","muid":"m","sender":{"uid":"bob"},"receiver":"alice","sentAt":5,"#
      + #""data":"{\"attachments\":[{\"url\":\"https://a/b\",\"size\":\"5\"}]}"}]}"#,
    #"{"error":{"code":"ERR_X","message":"no"}}"#,
    "<Error><Code>AccessDenied</Code><Message>Policy expired.</Message></Error>",
  ]
  private static let pieces = [
    "", "{", "}", "[", "]", "\"", "null", "-1", "9223372036854775807", "\\ud800", "\u{0}", ":", ",",
  ]

  @Test("Whatever comes, it is read or refused, and nothing breaks", arguments: answers)
  func damage(_ text: String) throws {
    let remote = try remote()
    var random = Seeded(state: 7)
    let bytes = Array(text.utf8)
    for _ in 0..<2000 {
      var body = bytes
      for _ in 0...random.next(below: 3) {
        let start = random.next(below: body.count + 1)
        let end = min(body.count, start + random.next(below: 12))
        body.replaceSubrange(start..<end, with: Self.pieces[random.next(below: 13)].utf8)
      }
      try read(HTTPResponse(status: random.next(below: 2) == 0 ? 200 : 403, body: body), remote)
    }
  }

  private func read(_ response: HTTPResponse, _ remote: CometChatRemote) throws {
    guard case .sendFile(let send) = sendSpec().operation else { return }
    let asked = AskedMessage(
      channel: "user:bob",
      fileIDs: [attachment().file.id],
      muid: "m",
      askedMs: 0
    )
    _ = try? remote.limits(in: response)
    _ = try? remote.slot(response, fileID: "t", for: send, size: 5)
    _ = try? remote.messageID(response)
    _ = try? remote.find(asked, in: response)
    _ = try? remote.message(response, channel: "user:bob", id: Timetoken(7))
    _ = remote.uploadError(response, deadlineMs: 5)
    let call = try remote.history(
      channel: "user:bob",
      limit: 1,
      start: nil,
      end: nil,
      cipherKey: nil
    )
    if case .ask(_, let then) = call { _ = try? then(response) }
    let words = remote.error(response, doing: "read this").message
    #expect(!words.isEmpty)
  }

  /// The same numbers in every run.
  private struct Seeded {
    var state: UInt64

    mutating func next(below bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
  }
}
