internal import Backends
internal import Configuration
internal import JSON
internal import TransferModel

/// Listening to PubNub: a long poll for all channels and groups, with one cursor.
struct PubNubFeed: SubscriptionFeed {
  let remote: PubNubRemote
  private var channels: [ExactString: Span] = [:]
  private var groups: [ExactString: Span] = [:]
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

  /// What is told of a name that is listened to.
  private struct Span {
    /// Messages after this moment are told.
    var start: Timetoken
    /// Up to here they have been, where it is gone back to before.
    var told: Timetoken

    func wants(_ moment: Timetoken) -> Bool { moment > start }
    func hasTold(_ moment: Timetoken) -> Bool { moment > start && moment <= told }
  }

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
    try checkSize(with: interest)
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

  /// The service would refuse a longer question for what it answers by now, too.
  private func checkSize(with interest: SubscriptionInterest) throws(TransferError) {
    let question = poll(
      channels: Set(interest.channels.map(ExactString.init(_:))).union(channels.keys).map(\.text),
      groups: Set(interest.groups.map(ExactString.init(_:))).union(groups.keys).map(\.text),
      filter: interest.filter ?? filter,
      // As long as they come.
      from: FeedStart(Timetoken(.max), region: "9999")
    )
    let size = try remote.sentBytes(question)
    guard size <= Rules.urlBytes else {
      throw TransferError(
        .invalidArgument,
        "With what this remote listens to already, these make a subscription of \(size) bytes after "
          + "escaping; PubNub takes \(Rules.urlBytes). Subscribe to fewer, or unsubscribe from others "
          + "first; a wildcard or a group stands for many.",
        field: "/channels"
      )
    }
  }

  mutating func add(_ interest: SubscriptionInterest, from start: FeedStart) {
    if let filter = interest.filter { self.filter = filter }
    if start.isChosen, let cursor {
      // All is asked for again from there, and the others have had it.
      let told = { (span: Span) in Span(start: span.start, told: max(span.told, cursor.timetoken)) }
      channels = channels.mapValues(told)
      groups = groups.mapValues(told)
    }
    if cursor.map({ start.isChosen && start.timetoken < $0.timetoken }) ?? true { cursor = start }
    let span = Span(start: start.timetoken, told: start.timetoken)
    for name in interest.channels where start.isChosen || channels[name] == nil {
      channels[name] = span
    }
    for name in interest.groups where start.isChosen || groups[name] == nil {
      groups[name] = span
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

  /// Whether a message is wanted and was not told.
  ///
  /// It comes once, by whichever of the names the service chose: others may have been listened to
  /// before that one.
  private func isNew(_ message: ChannelMessage) -> Bool {
    let moment = message.timetoken
    var spans = ([message.channel] + Self.wildcards(over: message.channel)).compactMap {
      channels[$0]
    }
    if let name = message.subscription, let span = groups[name] ?? channels[name] {
      spans.append(span)
    }
    if spans.isEmpty { return true }
    if spans.contains(where: { $0.hasTold(moment) }) { return false }
    // Which groups hold the channel, too, nobody says.
    return spans.contains { $0.wants(moment) }
      || groups.values.contains { $0.wants(moment) && !$0.hasTold(moment) }
  }

  /// `a.*` and `a.b.*` of `a.b.c`; presence has names of its own.
  private static func wildcards(over channel: String) -> [String] {
    if channel.hasSuffix("-pnpres") { return [] }
    return channel.utf8.indices.filter { channel.utf8[$0] == UInt8(ascii: ".") }
      .map { String(channel[...$0]) + "*" }
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
