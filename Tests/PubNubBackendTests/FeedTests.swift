import Backends
import Configuration
import Crypto
import Testing
import TransferModel

@testable import PubNubBackend

@Suite("Subscriptions")
struct FeedTests {
  private func request(_ feed: inout any SubscriptionFeed) -> HTTPRequest? {
    if case .ask(let request) = feed.next(nowMs: 0) { request } else { nil }
  }

  private func envelope(_ channel: String, _ tt: Int64, _ more: String = "") -> String {
    #"{"c":"\#(channel)","p":{"t":"\#(tt)","r":12},"i":"u","d":"x"\#(more)}"#
  }

  private func batch(_ tt: Int64, _ messages: String...) -> HTTPResponse {
    answer(#"{"t":{"t":"\#(tt)","r":12},"m":[\#(messages.joined(separator: ","))]}"#)
  }

  private func listening(
    to channels: [String],
    from tt: Int64 = 100,
    _ remote: PubNubRemote = remote()
  ) throws -> any SubscriptionFeed {
    var feed = try remote.feed()
    feed.add(SubscriptionInterest(channels: channels), from: FeedStart(Timetoken(tt), region: "12"))
    return feed
  }

  @Test("Joining asks with a cursor of 0 and is answered with the place to begin at")
  func join() throws {
    let feed = try remote().feed()
    let interest = SubscriptionInterest(
      channels: ["b ch", "a,x"].map { $0 == "b ch" ? "b-ch" : "é" },
      groups: ["g1"],
      filter: "k == 'v'"
    )
    guard case .ask(let request, let then) = try feed.join(interest, since: nil) else {
      Issue.record("nothing is asked")
      return
    }
    #expect(request.path == "/v2/subscribe/sub/b-ch,%C3%A9/0")
    #expect(request.query == "channel-group=g1&filter-expr=k%20%3D%3D%20%27v%27&tt=0")
    #expect(request.lane == .call)
    guard case .done(let start) = try then(batch(170)) else {
      Issue.record("asked on")
      return
    }
    #expect(start == FeedStart(Timetoken(170), region: "12"))
    let denied = answer(#"{"message":"Forbidden"}"#, 403)
    #expect(throws: TransferError.self) { try then(denied) }
    guard case .ask(_, let since) = try feed.join(interest, since: Timetoken(5)),
      case .done(let chosen) = try since(batch(170))
    else { return }
    #expect(chosen == FeedStart(Timetoken(5), isChosen: true))
  }

  @Test(
    "Names that PubNub cannot have are refused before it is asked",
    arguments: ["", "a,b", "*"]
  )
  func badNames(_ name: String) throws {
    let feed = try remote().feed()
    #expect(throws: TransferError.self) {
      _ = try feed.join(SubscriptionInterest(channels: [name]), since: nil)
    }
    #expect(throws: TransferError.self) {
      _ = try feed.join(SubscriptionInterest(channels: [], groups: [name]), since: nil)
    }
  }

  @Test("Groups may have a namespace")
  func namespaces() throws {
    let feed = try remote().feed()
    let interest = SubscriptionInterest(channels: [], groups: ["ns:g"])
    guard case .ask(let request, _) = try feed.join(interest, since: nil) else { return }
    #expect(request.query == "channel-group=ns%3Ag&tt=0")
  }

  @Test("Groups alone, wildcards and presence can be listened to")
  func others() throws {
    var feed = try remote().feed()
    let start = FeedStart(Timetoken(1))
    feed.add(SubscriptionInterest(channels: [], groups: ["g"]), from: start)
    #expect(request(&feed)?.path == "/v2/subscribe/sub/,/0")
    #expect(throws: Never.self) {
      _ = try feed.join(SubscriptionInterest(channels: ["a.*", "b-pnpres"]), since: nil)
    }
  }

  @Test("The cursor of each answer is the next question's")
  func cursor() throws {
    var feed = try listening(to: ["ch"])
    #expect(request(&feed)?.query == "tr=12&tt=100")
    #expect(request(&feed)?.lane == .poll)
    #expect(try feed.receive(batch(120, envelope("ch", 110)), nowMs: 0).count == 1)
    #expect(request(&feed)?.query == "tr=12&tt=120")
    #expect(try feed.receive(batch(130), nowMs: 0) == [])
    #expect(request(&feed)?.query == "tr=12&tt=130")
    // What failed is asked again from the same place.
    #expect(throws: TransferError.self) { try feed.receive(answer("<html>"), nowMs: 0) }
    #expect(request(&feed)?.query == "tr=12&tt=130")
  }

  @Test("Empty answers that nobody waited for are asked for ever less often, and others at once")
  func hasty() throws {
    var feed = try listening(to: ["ch"])
    func pause() -> Duration? {
      guard case .wait(let pause) = feed.next(nowMs: 0) else { return nil }
      #expect(request(&feed)?.query == "tr=12&tt=120", "then it asks")
      return pause
    }
    _ = request(&feed)
    _ = try feed.receive(batch(120), nowMs: 5)
    var pauses: [Duration?] = []
    for _ in 0..<12 {
      pauses.append(pause())
      _ = try feed.receive(batch(120, envelope("ch", 90)), nowMs: 5)
    }
    let milliseconds = [0, 100, 200, 400, 800, 1600, 3200, 6400, 6400, 6400, 6400, 6400]
    #expect(pauses == milliseconds.map { $0 == 0 ? nil : .milliseconds($0) })
    // A message, or an answer that was held, ends it.
    for (answer, nowMs) in [(batch(120, envelope("ch", 130)), Int64(5)), (batch(120), 60_000)] {
      _ = pause()
      _ = try feed.receive(answer, nowMs: nowMs)
      #expect(request(&feed) != nil)
      _ = try feed.receive(batch(120), nowMs: 5)
      #expect(request(&feed) != nil)
      _ = try feed.receive(batch(120), nowMs: 5)
    }
  }

  @Test("A place to go on from is a moment", arguments: ["0", "-5", "x", "99999999999999999999"])
  func noMoment(_ text: String) throws {
    var feed = try listening(to: ["ch"])
    _ = request(&feed)
    let response = answer(#"{"t":{"t":"\#(text)","r":12},"m":[]}"#)
    #expect(throws: TransferError.self) { try feed.receive(response, nowMs: 0) }
    #expect(request(&feed)?.query == "tr=12&tt=100")
  }

  @Test("From 0 on means all there is, not now")
  func sinceZero() throws {
    var feed = try remote().feed()
    let start = FeedStart(Timetoken(0), isChosen: true)
    feed.add(SubscriptionInterest(channels: ["ch"]), from: start)
    #expect(request(&feed)?.query == "tt=1")
    #expect(try feed.receive(batch(120, envelope("ch", 1)), nowMs: 0).count == 1)
  }

  @Test("Events of all kinds, with all they tell")
  func events() throws {
    var feed = try listening(to: ["ch", "w.*"])
    _ = request(&feed)
    let file = """
      {"a":"2","f":0,"e":4,"i":"user 1","p":{"t":"110","r":12},"k":"sub","c":"ch","u":{"k":"v"},
      "cmt":"my-type","d":{"message":{"t":"hi"},"file":{"id":"ID","name":"a b.txt"}}}
      """
    let messages = try feed.receive(
      batch(
        200,
        file,
        envelope("ch", 111),
        envelope("ch", 112, #","e":1"#),
        envelope("w.x", 113, #","b":"w.*""#),
        envelope("ch", 114, #","e":3"#),
        envelope("ch-pnpres", 115),
        #"{"no":"channel"}"#
      ),
      nowMs: 0
    )
    #expect(
      messages.map(\.kind) == [.file, .message, .signal, .message, .messageAction, .presence]
    )
    #expect(messages[0].publisher == "user 1")
    #expect(messages[0].customMessageType == "my-type")
    #expect(messages[0].meta == raw(#"{"k":"v"}"#))
    #expect(messages[0].message == raw(#"{"t":"hi"}"#))
    #expect(messages[0].file == SharedFile(id: "ID", name: "a b.txt"))
    #expect(messages[0].fileURL?.contains("/files/ID/a%20b.txt?") == true)
    #expect(messages[3].subscription == "w.*")
  }

  @Test("A file event without message, and ones that are malformed, end nothing")
  func malformed() throws {
    var feed = try listening(to: ["ch"], remote(encrypted))
    _ = request(&feed)
    let messages = try feed.receive(
      batch(
        200,
        #"{"c":"ch","p":{"t":"1100"},"e":4,"d":{"file":{"id":"I","name":"n"}}}"#,
        #"{"c":"ch","p":{"t":"1101"},"e":4,"d":"garbage"}"#,
        #"{"c":"ch","p":{"t":"1102"},"e":4,"d":7}"#,
        #"{"c":"ch","p":{"t":"1103"},"e":4}"#,
        #"{"c":"ch","p":{"t":"1104"},"d":"garbage"}"#
      ),
      nowMs: 0
    )
    #expect(messages.count == 5)
    #expect(messages[0].file?.id == "I")
    for message in messages { #expect(message.error != nil) }
    #expect(messages[1].message == raw(#""garbage""#))
    #expect(request(&feed)?.query == "tr=12&tt=200")
  }

  @Test("Channels come and go without a gap and without an echo")
  func changes() throws {
    var feed = try listening(to: ["a"])
    _ = request(&feed)
    feed.add(SubscriptionInterest(channels: ["b"]), from: FeedStart(Timetoken(150), region: "12"))
    // The answer to the old question: all of it comes again.
    #expect(try feed.receive(batch(160, envelope("a", 155)), nowMs: 0) == [])
    #expect(request(&feed)?.path == "/v2/subscribe/sub/a,b/0")
    #expect(request(&feed)?.query == "tr=12&tt=100")
    let both = batch(
      160,
      envelope("b", 140),
      envelope("a", 145),
      envelope("b", 155),
      envelope("a", 156)
    )
    #expect(try feed.receive(both, nowMs: 0).map(\.timetoken.value) == [145, 155, 156])
    feed.remove(channels: ["a"], groups: nil)
    #expect(request(&feed)?.path == "/v2/subscribe/sub/b/0")
    #expect(request(&feed)?.query == "tr=12&tt=160")
    feed.remove(channels: ["b"], groups: nil)
    #expect(feed.isIdle)
  }

  @Test("A moment that a host chose goes back for its channels alone")
  func since() throws {
    var feed = try listening(to: ["a"])
    _ = request(&feed)
    _ = try feed.receive(batch(200), nowMs: 0)
    feed.add(
      SubscriptionInterest(channels: ["b"]),
      from: FeedStart(Timetoken(50), isChosen: true)
    )
    #expect(request(&feed)?.query == "tt=50")
    let old = batch(210, envelope("a", 120), envelope("b", 60), envelope("a", 205))
    #expect(try feed.receive(old, nowMs: 0).map(\.timetoken.value) == [60, 205])
  }

  @Test("A message is told that any of the names it can come by was waiting for")
  func overlaps() throws {
    for (first, second, b) in [
      (SubscriptionInterest(channels: ["a.*"]), SubscriptionInterest(channels: ["a.b"]), "a.b"),
      (SubscriptionInterest(channels: ["a.b"]), SubscriptionInterest(channels: ["a.*"]), "a.*"),
      (.init(channels: [], groups: ["g1"]), .init(channels: [], groups: ["g2"]), "g2"),
      (.init(channels: ["a.b"]), .init(channels: [], groups: ["g2"]), "g2"),
    ] {
      var feed = try remote().feed()
      feed.add(first, from: FeedStart(Timetoken(100), region: "12"))
      feed.add(second, from: FeedStart(Timetoken(200), region: "12"))
      _ = request(&feed)
      let gap = batch(210, envelope("a.b", 90), envelope("a.b", 150), envelope("a.b", 205))
      let named = String(decoding: gap.body, as: UTF8.self)
        .replacing("\"i\":", with: "\"b\":\"\(b)\",\"i\":")
      #expect(
        try feed.receive(answer(named), nowMs: 0).map(\.timetoken.value) == [150, 205],
        "\(second)"
      )
    }
  }

  @Test("What one name has told, another that goes back does not tell again")
  func overlapsSince() throws {
    var feed = try listening(to: ["a.*", "c"])
    _ = request(&feed)
    _ = try feed.receive(batch(200, envelope("a.b", 150)), nowMs: 0)
    feed.add(
      SubscriptionInterest(channels: ["a.b"]),
      from: FeedStart(Timetoken(50), isChosen: true)
    )
    _ = request(&feed)
    let again = batch(210, envelope("a.b", 60), envelope("a.b", 150), envelope("a.b", 205))
    #expect(try feed.receive(again, nowMs: 0).map(\.timetoken.value) == [60, 205])
    // Until a host asks for that name itself again.
    feed.add(SubscriptionInterest(channels: ["c"]), from: FeedStart(Timetoken(50), isChosen: true))
    _ = request(&feed)
    let old = batch(220, envelope("c", 150), envelope("a.b", 205), envelope("a.x", 160))
    #expect(try feed.receive(old, nowMs: 0).map(\.timetoken.value) == [150])
  }

  @Test("What a wildcard has told says nothing of presence")
  func presenceSince() throws {
    var feed = try listening(to: ["a.*"])
    _ = request(&feed)
    _ = try feed.receive(batch(200), nowMs: 0)
    feed.add(
      SubscriptionInterest(channels: ["a.b-pnpres"]),
      from: FeedStart(Timetoken(50), isChosen: true)
    )
    _ = request(&feed)
    let old = batch(210, envelope("a.b-pnpres", 150), envelope("a.b", 150))
    #expect(try feed.receive(old, nowMs: 0).map(\.channel) == ["a.b-pnpres"])
  }

  @Test("What one group has told does not come again by another that was not waiting for it")
  func groupsSince() throws {
    var feed = try remote().feed()
    let first = SubscriptionInterest(channels: [], groups: ["g1"])
    feed.add(first, from: FeedStart(Timetoken(100), region: "12"))
    _ = request(&feed)
    _ = try feed.receive(batch(200), nowMs: 0)
    let second = SubscriptionInterest(channels: [], groups: ["g2"])
    feed.add(second, from: FeedStart(Timetoken(200), region: "12"))
    feed.add(SubscriptionInterest(channels: ["c"]), from: FeedStart(Timetoken(50), isChosen: true))
    _ = request(&feed)
    let by = #","b":"g2""#
    let old = batch(210, envelope("x", 150, by), envelope("c", 150), envelope("x", 205, by))
    #expect(try feed.receive(old, nowMs: 0).map(\.timetoken.value) == [150, 205])
  }

  @Test("What a group waits for is told where its channel is joined, too")
  func channelOfGroup() throws {
    var feed = try remote().feed()
    let group = SubscriptionInterest(channels: [], groups: ["g"])
    feed.add(group, from: FeedStart(Timetoken(100), region: "12"))
    feed.add(SubscriptionInterest(channels: ["c"]), from: FeedStart(Timetoken(200), region: "12"))
    _ = request(&feed)
    let gap = batch(210, envelope("c", 90), envelope("c", 150), envelope("c", 205))
    #expect(try feed.receive(gap, nowMs: 0).map(\.timetoken.value) == [150, 205])
    // And once.
    feed.add(SubscriptionInterest(channels: ["d"]), from: FeedStart(Timetoken(50), isChosen: true))
    _ = request(&feed)
    #expect(try feed.receive(gap, nowMs: 0) == [])
  }

  @Test("More channels than PubNub's URLs hold are refused, and those that work go on")
  func tooMany() throws {
    var feed = try listening(to: ["live"])
    func names(_ first: String) -> SubscriptionInterest {
      SubscriptionInterest(
        channels: (0..<30).map { first + String(repeating: "漢", count: 88) + "\($0)" }
      )
    }
    _ = try feed.join(names("b"), since: nil)
    feed.add(names("b"), from: FeedStart(Timetoken(100)))
    _ = try feed.join(names("b"), since: nil)
    let error = try #require(throws: TransferError.self) {
      _ = try feed.join(names("c"), since: nil)
    }
    #expect(error.code == .invalidArgument && error.field == "/channels")
    #expect(feed.interest.channels.count == 31)
    #expect(try #require(request(&feed)).path.utf8.count < 32 << 10)
    // Groups and filters count as well.
    #expect(throws: TransferError.self) {
      _ = try feed.join(.init(channels: [], groups: names("c").channels), since: nil)
    }
    let filter = String(repeating: "'", count: 3000)
    #expect(throws: TransferError.self) {
      _ = try feed.join(.init(channels: ["x"], filter: filter), since: nil)
    }
  }

  @Test("A filter holds for the whole connection")
  func filter() throws {
    var feed = try listening(to: ["a"])
    feed.add(
      SubscriptionInterest(channels: ["b"], filter: "x > 1"),
      from: FeedStart(Timetoken(100))
    )
    #expect(request(&feed)?.query == "filter-expr=x%20%3E%201&tr=12&tt=100")
    #expect(feed.interest.filter == "x > 1")
  }
}
