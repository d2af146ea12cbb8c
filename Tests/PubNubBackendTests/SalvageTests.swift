import Backends
import JSON
import Testing
import TransferModel

@testable import PubNubBackend

@Suite("Messages that are no JSON")
struct SalvageTests {
  /// What a client may have sent: no scalar, no UTF-8, nested deeper than anybody reads.
  private static let odd: [[UInt8]] = [
    Array(#""\ud800""#.utf8), Array(#"{"a":"\udc00 \" ]}"}"#.utf8),
    [0x22, 0x61, 0xFF, 0xC3, 0x22], [0x22, 0x00, 0x22],
    Array(repeating: UInt8(ascii: "["), count: 10_000)
      + Array(repeating: UInt8(ascii: "]"), count: 10_000),
  ]

  private func response(_ before: String, _ odd: [UInt8], _ after: String) -> HTTPResponse {
    HTTPResponse(status: 200, headers: [], body: Array(before.utf8) + odd + Array(after.utf8))
  }

  @Test("A subscription tells of it, and of those beside it", arguments: odd.indices)
  func subscription(_ index: Int) throws {
    var feed = try remote().feed()
    feed.add(SubscriptionInterest(channels: ["ch"]), from: FeedStart(Timetoken(100)))
    _ = feed.next(nowMs: 0)
    let answer = response(
      #"{"t":{"t":"200","r":12},"m":[{"c":"ch","p":{"t":"110"},"d":1},{"c":"ch", "d":"#,
      Self.odd[index],
      #" ,"p":{"t":"111"},"i":"u"},{"c":"ch","p":{"t":"112"},"d":{"m":3}}]}"#
    )
    let messages = try feed.receive(answer, nowMs: 0)
    #expect(messages.map(\.timetoken.value) == [110, 111, 112])
    #expect(messages.map { $0.error == nil } == [true, false, true])
    #expect(messages.map(\.message) == [raw("1"), nil, raw(#"{"m":3}"#)])
    #expect(messages[1].publisher == "u")
    guard case .ask(let request) = feed.next(nowMs: 0) else {
      Issue.record("nothing is asked")
      return
    }
    #expect(request.query == "tr=12&tt=200")
  }

  @Test("History gives it, and those beside it", arguments: odd.indices)
  func history(_ index: Int) throws {
    let answer = response(
      #"{"error":false,"channels":{"ch":[{"timetoken":"17","message":"#,
      Self.odd[index],
      #","uuid":"u"},{"timetoken":"18","message":2}]},"more":{"start":"13"}}"#
    )
    let page = try remote().page(answer, channel: "ch", cipher: nil, nowMs: 0)
    #expect(page.messages.map { $0.error == nil } == [false, true])
    #expect(page.messages.map(\.message) == [nil, raw("2")])
    #expect(page.more == Timetoken(13))
  }

  @Test(
    "What is cut off, or something else altogether, is no answer",
    arguments: [
      #"{"t":{"t":"200"},"m":[{"c":"ch","p":{"t":"111"},"d":"\ud800"}"#, "<html>{}</html>", "",
      #""\ud800""#, #"{"t":{"t":"200"},"m":[]}}"#, #"{"t":{"t":"\ud800"},"m":[]}"#,
    ]
  )
  func noAnswer(_ body: String) throws {
    var feed = try remote().feed()
    feed.add(SubscriptionInterest(channels: ["ch"]), from: FeedStart(Timetoken(100)))
    _ = feed.next(nowMs: 0)
    #expect(throws: TransferError.self) { try feed.receive(answer(body), nowMs: 0) }
  }
}
