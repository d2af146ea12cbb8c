import Backends
import Configuration
import Testing
import TransferModel

@testable import S3Backend

@Suite("Listening by looking")
struct S3FeedTests {
  /// Feeds a turn: answers to its lists by channel, and to what it fetches the names themselves.
  private func turn(
    _ feed: inout any SubscriptionFeed,
    _ lists: [String: [HTTPResponse]]
  ) throws -> [ChannelMessage] {
    var lists = lists
    var messages: [ChannelMessage] = []
    while true {
      switch feed.next(nowMs: now) {
      case .wait(let pause):
        #expect(pause == .seconds(5))
        let left = lists.values.reduce(0) { $0 + $1.count }
        #expect(left == 0, "lists that nobody asked for")
        return messages
      case .ask(let request):
        let channel = try #require(
          lists.keys.first { request.query.contains("channels%2F\($0)%2F") }
        )
        let list = try #require(lists[channel]?.first)
        lists[channel]?.removeFirst()
        messages += try feed.receive(list, nowMs: now)
      case .askAll(let requests):
        #expect(requests.count <= 8)
        for request in requests {
          messages += try feed.receive(stored(request.path), nowMs: now)
        }
      }
    }
  }

  private func begin(
    _ names: [String] = [],
    since: Timetoken? = nil,
    remote: S3Remote = makeRemote()
  ) throws -> any SubscriptionFeed {
    var feed = try remote.feed()
    _ = remote.judge(page([]), to: remote.probe, nowMs: now)
    let interest = SubscriptionInterest(channels: ["c"])
    let start = try run(feed.join(interest, since: since), [page(names)]).value
    #expect(start.timetoken == since ?? moment(0))
    feed.add(interest, from: start)
    return feed
  }

  private func moments(_ messages: [ChannelMessage]) -> [Int64] {
    messages.map { $0.timetoken.value / 10_000 - now }
  }

  private func turned(
    _ feed: inout any SubscriptionFeed,
    _ lists: [String: [HTTPResponse]]
  ) throws -> [Int64] { moments(try turn(&feed, lists)) }

  private func received(
    _ feed: inout any SubscriptionFeed,
    _ response: HTTPResponse,
    nowMs: Int64
  ) throws -> [Int64] { moments(try feed.receive(response, nowMs: nowMs)) }

  @Test("What is there before is not told; what appears is, once, whatever its moment")
  func appearing() throws {
    var feed = try begin([name(-1), name(-119_000)])
    var names = [name(-1), name(-119_000)]
    #expect(try turn(&feed, ["c": [page(names)]]).isEmpty)
    // One ahead of the server's clock, then one behind, which is late.
    names.insert(name(30_000), at: 0)
    var told = try turn(&feed, ["c": [page(names)]])
    #expect(moments(told) == [30_000])
    #expect(told.map(\.isLate) == [false])
    names.insert(name(-30_000), at: 2)
    told = try turn(&feed, ["c": [page(names)]])
    #expect(moments(told) == [-30_000])
    #expect(told.map(\.isLate) == [true])
    #expect(try turn(&feed, ["c": [page(names)]]).isEmpty)
  }

  @Test("What appears later than the settle window allows is left to history")
  func tooLate() throws {
    var feed = try begin()
    #expect(try turn(&feed, ["c": [page([])]]).isEmpty)
    #expect(try turned(&feed, ["c": [page([name(-119_999), name(-120_001)])]]) == [-119_999])
  }

  @Test("A list goes on until it meets what was looked at")
  func paging() throws {
    var feed = try begin()
    let first = page([name(3), name(2)], next: "t")
    let second = page([name(1), name(-500_000)], next: "u")
    #expect(try turned(&feed, ["c": [first, second]]) == [1, 2, 3])
  }

  @Test("Since brings what is newer, in order, and nothing that is not")
  func since() throws {
    let names = [name(-10), name(-20), name(-30), name(-600_000), name(-700_000)]
    var recent = try begin(names, since: moment(-20))
    #expect(try turned(&recent, ["c": [page(names)]]) == [-10])
    var old = try begin(names, since: moment(-650_000))
    #expect(try turned(&old, ["c": [page(names)]]) == [-600_000, -30, -20, -10])
    #expect(try turn(&old, ["c": [page(names)]]).isEmpty)
  }

  @Test("More than a look takes comes with the oldest first, in several looks")
  func backlog() throws {
    var feed = try begin(since: moment(-9_000_000))
    let names = (0..<5000).map { name(-200_000 - Int64($0)) }
    let list = page(names)
    let told = try turn(&feed, ["c": [list, list, list]])
    #expect(moments(told) == (0..<5000).map { -200_000 - Int64($0) }.reversed())
    #expect(told.allSatisfy { !$0.isLate })
  }

  @Test("What is expired is not told, nor what was to be told at once and long ago")
  func notTold() throws {
    var feed = try begin(since: moment(-9_000_000))
    let names = [
      name(-1, "a", "-live"), name(-2, "a", "-x1"), name(-3, "a", "-x2000000000"),
      name(-500_000, "a", "-live"),
    ]
    #expect(try turned(&feed, ["c": [page(names)]]) == [-3, -1])
  }

  @Test("Channels come and go; answers to what was asked before are asked for again")
  func channels() throws {
    var feed = try begin()
    #expect(try turn(&feed, ["c": [page([])]]).isEmpty)
    guard case .ask = feed.next(nowMs: now) else {
      Issue.record("no list")
      return
    }
    let more = SubscriptionInterest(channels: ["d"])
    feed.add(more, from: FeedStart(moment(0)))
    #expect(try feed.receive(page([name(1)]), nowMs: now).isEmpty)
    let told = try turn(&feed, ["c": [page([name(1)])], "d": [page([name(2)], channel: "d")]])
    #expect(told.map(\.channel).sorted() == ["c", "d"])
    feed.remove(channels: ["c"], groups: nil)
    #expect(feed.interest.channels == ["d"])
    let names = page([name(3), name(2)], channel: "d")
    #expect(try turned(&feed, ["d": [names]]) == [3])
    feed.remove(channels: nil, groups: nil)
    #expect(feed.isIdle)
  }

  @Test("A failure in between loses nothing; what went meanwhile is left out")
  func failures() throws {
    var feed = try begin()
    guard case .ask = feed.next(nowMs: now) else {
      Issue.record("no list")
      return
    }
    #expect(throws: TransferError.self) { try feed.receive(fault(403, "AccessDenied"), nowMs: now) }
    guard case .ask = feed.next(nowMs: now) else {
      Issue.record("no list")
      return
    }
    #expect(try feed.receive(page([name(3), name(2), name(1)]), nowMs: now).isEmpty)
    guard case .askAll(let requests) = feed.next(nowMs: now), requests.count == 3 else {
      Issue.record("no messages")
      return
    }
    #expect(try received(&feed, stored("1"), nowMs: now) == [1])
    #expect(throws: TransferError.self) { try feed.receive(fault(403, "ExpiredToken"), nowMs: now) }
    guard case .askAll(let again) = feed.next(nowMs: now), again.count == 2 else {
      Issue.record("no messages")
      return
    }
    #expect(again == Array(requests.dropFirst()))
    #expect(try feed.receive(fault(404, "NoSuchKey"), nowMs: now).isEmpty)
    #expect(try received(&feed, stored("3"), nowMs: now) == [3])
  }

  @Test("A message that cannot be read is told with its error, and stops no others")
  func unreadable() throws {
    var feed = try begin()
    guard case .ask = feed.next(nowMs: now) else {
      Issue.record("no list")
      return
    }
    _ = try feed.receive(page([name(3), name(2), name(1)]), nowMs: now)
    guard case .askAll = feed.next(nowMs: now) else {
      Issue.record("no messages")
      return
    }
    let denied = try feed.receive(fault(403, "AccessDenied"), nowMs: now)
    #expect(moments(denied) == [1])
    #expect(denied.first?.error?.code == .permissionDenied)
    let nonsense = try feed.receive(answer(200, [:], "{"), nowMs: now)
    #expect(nonsense.first?.error?.code == .unknown)
    #expect(try received(&feed, stored("3"), nowMs: now) == [3])
  }

  @Test("A prefix that the server turns out not to take is told by the next answer")
  func refusedPrefix() throws {
    let remote = makeRemote {
      $0.provider = .auto
      $0.prefix = ObjectReference(path: "a\\b")
    }
    var feed = try remote.feed()
    feed.add(SubscriptionInterest(channels: ["c"]), from: FeedStart(moment(0)))
    remote.learnProvider(from: answer(200, ["Server": "SeaweedFS 4"]))
    #expect(feed.next(nowMs: now) == .ask(remote.probe))
    let error = #expect(throws: TransferError.self) { try feed.receive(answer(200), nowMs: now) }
    #expect(error?.code == .invalidReference)
  }

  @Test("Groups and filters are refused")
  func filter() throws {
    let feed = try makeRemote().feed()
    for interest in [
      SubscriptionInterest(channels: ["c"], groups: ["g"]),
      SubscriptionInterest(channels: ["c"], filter: "f"),
    ] {
      let error = #expect(throws: TransferError.self) { try feed.join(interest, since: nil) }
      #expect(error?.code == .invalidArgument)
    }
  }
}
