import Backends
import Configuration
import Testing
import TransferModel

@testable import PubNubBackend

@Suite("Damaged answers")
struct DamageTests {
  private static let answers = [
    String(decoding: slotAnswer.body, as: UTF8.self),
    #"{"status":200,"data":[{"name":"n","id":"i","size":19,"created":"2025-05-05T17:26:44Z"}],"next":"1_2"}"#,
    #"{"error":false,"channels":{"ch":[{"message":{"file":{"id":"F","name":"n","size":3}},"timetoken":"17","message_type":4}]},"more":{"start":"13"}}"#,
    #"{"t":{"t":"170","r":12},"m":[{"c":"ch","e":4,"p":{"t":"160"},"d":"UE5FRA==","b":"g","u":{}}]}"#,
    #"[1,"Sent","17464660120899663"]"#,
    "<Error><Code>EntityTooLarge</Code><Message>too &lt;big&gt;</Message></Error>",
    #"{"status":400,"error":{"message":"m","source":"Files","code":3001}}"#,
  ]

  /// Bytes that mean something to one of the readers.
  private static let alphabet = Array(#""{}[],:-0159eE.\u<>/&;ntf "#.utf8) + [0, 0x80, 0xC3, 0xFF]

  @Test(
    "Whatever is changed, cut or doubled, nothing stops the process",
    arguments: answers.indices
  )
  func mutations(_ index: Int) throws {
    let remote = remote { encrypted(&$0) }
    var random = Seeded(state: UInt64(index) + 1)
    let original = Array(Self.answers[index].utf8)
    var readable = 0
    for _ in 0..<3000 {
      var body = original
      for _ in 0...random.next(below: 3) {
        let place = random.next(below: body.count)
        switch random.next(below: 4) {
        case 0: body[place] = Self.alphabet[random.next(below: Self.alphabet.count)]
        case 1: body.remove(at: place)
        case 2: body.insert(Self.alphabet[random.next(below: Self.alphabet.count)], at: place)
        default: body.insert(contentsOf: body[place...], at: place)
        }
        if body.isEmpty { body = [0x7B] }
      }
      readable += read(body, remote)
    }
    // Most still mean something to some reader, so the readers were reached.
    #expect(readable > 100)
  }

  /// Gives a body to every reader; returns how many could make something of it.
  private func read(_ body: [UInt8], _ remote: PubNubRemote) -> Int {
    let response = HTTPResponse(
      status: 200,
      headers: [
        HTTPHeader("Date", String(decoding: body, as: UTF8.self)),
        HTTPHeader("Content-Range", "bytes " + String(decoding: body, as: UTF8.self)),
      ],
      body: body
    )
    var count = 0
    if (try? UploadSlot(response)) != nil { count += 1 }
    if (try? remote.page(response, channel: "ch", cipher: remote.cipher(nil), nowMs: 0)) != nil {
      count += 1
    }
    if (try? remote.timetoken(response)) != nil { count += 1 }
    if case .ask(_, let then)? = try? remote.listFiles(channel: "ch", limit: 1, next: nil),
      (try? then(response)) != nil
    {
      count += 1
    }
    var feed = PubNubFeed(remote: remote)
    feed.add(SubscriptionInterest(channels: ["ch"]), from: FeedStart(Timetoken(1)))
    _ = feed.next(nowMs: 0)
    if (try? feed.receive(response, nowMs: 0)) != nil { count += 1 }
    if Fault(response).message != nil { count += 1 }
    _ = remote.error(response, doing: "read this")
    _ = ContentRange(response)
    _ = HTTPDate.milliseconds(String(decoding: body, as: UTF8.self))
    return count
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
