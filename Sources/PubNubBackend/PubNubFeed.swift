internal import Backends
internal import Configuration
internal import JSON
internal import TransferModel

/// Listening to PubNub: a long poll for all channels and groups, with one cursor.
struct PubNubFeed: SubscriptionFeed {
  let remote: PubNubRemote
  /// What is listened to, and the moment after which its messages are told.
  private var channels: [ExactString: Timetoken] = [:]
  private var groups: [ExactString: Timetoken] = [:]
  private var filter: String?
  /// All up to here has come.
  private var cursor: FeedStart?
  /// Rises when what is listened to changes.
  private var generation = 0
  private var asked = 0
  private var askedMs: Int64 = 0
  /// Answers in a row that brought nothing and were not waited for.
  private var hastyAnswers = 0
  /// What is waited before the next question.
  private var rest: Duration?

  /// The service holds a poll for about 280 to 310 seconds.
  private static let answerTimeout: Duration = .seconds(320)

  init(remote: PubNubRemote) { self.remote = remote }

  func join(
    _ interest: SubscriptionInterest,
    since: Timetoken?
  ) throws(TransferError) -> RemoteCall<FeedStart> {
    for name in interest.channels {
      try Rules.check(subscription: name, field: "/channels")
    }
    for name in interest.groups { try Rules.check(group: name) }
    let request = poll(
      channels: interest.channels,
      groups: interest.groups,
      filter: interest.filter ?? filter,
      from: nil
    )
    return .ask(request) { [remote] response throws(TransferError) in
      let node = try remote.json(response, doing: "let the channels be subscribed to")
      let start = try Self.cursor(in: node)
      return .done(since.map { FeedStart($0, isChosen: true) } ?? start)
    }
  }

  mutating func add(_ interest: SubscriptionInterest, from start: FeedStart) {
    if let filter = interest.filter { self.filter = filter }
    if start.isChosen, let cursor {
      // All is asked for again from there, and the others have had it.
      channels = channels.mapValues { max($0, cursor.timetoken) }
      groups = groups.mapValues { max($0, cursor.timetoken) }
    }
    if cursor.map({ start.isChosen && start.timetoken < $0.timetoken }) ?? true { cursor = start }
    for name in interest.channels where start.isChosen || channels[name] == nil {
      channels[name] = start.timetoken
    }
    for name in interest.groups where start.isChosen || groups[name] == nil {
      groups[name] = start.timetoken
    }
    generation += 1
  }

  mutating func remove(channels: [String]?, groups: [String]?) {
    if channels == nil, groups == nil {
      self.channels = [:]
      self.groups = [:]
    }
    for name in channels ?? [] { self.channels[name] = nil }
    for name in groups ?? [] { self.groups[name] = nil }
    generation += 1
    guard isIdle else { return }
    cursor = nil
    filter = nil
  }

  var interest: SubscriptionInterest {
    SubscriptionInterest(
      channels: channels.keys.map(\.text),
      groups: groups.keys.map(\.text),
      filter: filter
    )
  }

  var isIdle: Bool { channels.isEmpty && groups.isEmpty }

  mutating func next(nowMs: Int64) -> FeedStep {
    if let rest = rest.take() { return .wait(rest) }
    asked = generation
    askedMs = nowMs
    return .ask(
      poll(
        channels: channels.keys.map(\.text),
        groups: groups.keys.map(\.text),
        filter: filter,
        from: cursor
      )
    )
  }

  mutating func receive(
    _ response: HTTPResponse,
    nowMs: Int64
  ) throws(TransferError) -> [ChannelMessage] {
    // Asked from another place, or for other channels: what it brings comes again.
    guard asked == generation else { return [] }
    let node = try remote.json(
      response,
      doing: "let the channels be subscribed to",
      salvaging: 3
    )
    let cursor = try Self.cursor(in: node)
    let reader = MessageReader(remote: remote, cipher: try remote.cipher(nil), nowMs: nowMs)
    var messages: [ChannelMessage] = []
    Members(node)["m"]?.forEachElement { element in
      if let message = reader.message(inEnvelope: element), isNew(message) {
        messages.append(message)
      }
      return true
    }
    self.cursor = cursor
    slowDown(isHasty: messages.isEmpty && nowMs - askedMs < 1000)
    return messages
  }

  /// Asks ever less often what answers at once, over and over, and has nothing to tell: PubNub
  /// holds a question until it has.
  private mutating func slowDown(isHasty: Bool) {
    hastyAnswers = isHasty ? hastyAnswers + 1 : 0
    rest = hastyAnswers > 1 ? .milliseconds(100 << min(hastyAnswers - 2, 6)) : nil
  }

  private func isNew(_ message: ChannelMessage) -> Bool {
    let name = message.subscription ?? message.channel
    let start = channels[name] ?? groups[name]
    return start.map { message.timetoken > $0 } ?? true
  }

  private static func cursor(in node: JSONNode) throws(TransferError) -> FeedStart {
    let cursor = Members(Members(node)["t"])
    guard let timetoken = cursor.timetoken("t") else {
      throw TransferError(
        .server,
        "PubNub's answer to a subscription names no place to go on from."
      )
    }
    return FeedStart(timetoken, region: cursor.int("r").map(String.init))
  }

  private func poll(
    channels: [String],
    groups: [String],
    filter: String?,
    from cursor: FeedStart?
  ) -> HTTPRequest {
    let names = channels.sorted().map(PercentEncoding.component).joined(separator: ",")
    var query = Query()
    // 0 means now; a host that chose it means all there is.
    query.add("tt", cursor.map { max($0.timetoken, Timetoken(1)).description } ?? "0")
    query.add("tr", cursor?.region)
    query.add("channel-group", groups.isEmpty ? nil : groups.sorted().joined(separator: ","))
    query.add("filter-expr", filter)
    return HTTPRequest(
      .get,
      origin: remote.settings.origin,
      path: "/v2/subscribe/\(remote.settings.subscribeKey)/\(names.isEmpty ? "," : names)/0",
      query: query.encoded,
      // The first question is answered at once, and is one that somebody waits for.
      lane: cursor == nil ? .call : .poll,
      answerTimeout: cursor == nil ? .seconds(60) : Self.answerTimeout,
      isRepeatable: cursor == nil
    )
  }
}
