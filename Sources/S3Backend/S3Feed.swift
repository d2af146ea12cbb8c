import Backends
import Configuration
import JSON
import TransferModel

/// Listening to channels of a bucket: a look at the newest names of each, every poll interval.
///
/// Each look covers all that was told since the one before it, and the settle window before that:
/// writers' clocks differ, and servers may show an object late. What a look has shown is remembered
/// as long as the next one covers it, so every message comes once.
struct S3Feed: SubscriptionFeed {
  private let remote: S3Remote
  private var channels: [ExactString: Channel] = [:]
  /// What is to be looked at before the next pause.
  private var due: [ExactString] = []
  private var look: Look?
  /// What the last look found, oldest first, to be fetched.
  private var found: [Found] = []
  /// Rises when what is listened to changes.
  private var generation = 0
  private var asked = 0
  /// Why nothing can be asked, which only an answer can tell.
  private var refusal: TransferError?

  private struct Channel: Sendable {
    /// What is not newer was looked at for the last time.
    var cutoff: Timetoken
    /// What came, or is not to come, of those that are newer.
    var seen: Set<String>
    /// What is older and not stored is not told.
    var liveFrom: Timetoken
    /// The newest that was told.
    var newest: Timetoken
  }

  /// A list that goes on until it meets what was looked at before.
  private struct Look: Sendable {
    var channel: ExactString
    /// When the server began to answer.
    var serverMs: Int64?
    var next: String?
    /// Newest first.
    var new: [MessageKey] = []
    /// Whether newer ones were left for the next look.
    var isCut = false
  }

  private struct Found: Sendable {
    var channel: ExactString
    var key: MessageKey
  }

  /// Messages that one look takes; what is more, it begins with the oldest.
  private static let mostNew = 2000
  /// Messages that are fetched at the same time.
  private static let width = 8

  init(remote: S3Remote) { self.remote = remote }

  private var windowMs: Int64 { remote.settings.settleWindowMs }

  // MARK: What is listened to

  func join(
    _ interest: SubscriptionInterest,
    since: Timetoken?
  ) throws(TransferError) -> RemoteCall<FeedStart> {
    for (field, isGiven) in [
      ("groups", !interest.groups.isEmpty), ("filter", interest.filter != nil),
    ] where isGiven {
      throw TransferError(
        .invalidArgument,
        "\(field) is not for remotes of kind s3; leave it out.",
        field: "/" + field
      )
    }
    return try join(interest.channels[...], from: nil, since: since, known: [:], next: nil)
  }

  /// How much more than the settle window is known of the beginning, since its moment is not known
  /// to the second.
  private static let slackMs: Int64 = 60_000

  /// Asks for the names of each channel's settle window, one after the other.
  private func join(
    _ rest: ArraySlice<String>,
    from start: FeedStart?,
    since: Timetoken?,
    known: [ExactString: Set<String>],
    next: String?
  ) throws(TransferError) -> RemoteCall<FeedStart> {
    guard let channel = rest.first else {
      var start = start ?? FeedStart(since ?? remote.nextTimetoken(), isChosen: since != nil)
      start.known = known
      return .done(start)
    }
    let request = try remote.listMessages(channel: channel, limit: 1000, next: next)
    return .ask(request) { response throws(TransferError) in
      let page = try remote.page(response)
      let now = Timetoken((remote.date(of: response) ?? remote.serverNowMs) * 10_000)
      let start = start ?? FeedStart(since ?? now, isChosen: since != nil)
      let names = try remote.messages(in: page, channel: channel).map(\.key)
      let first = start.isChosen ? now : min(now, start.timetoken)
      let cutoff = Timetoken(first.value - (windowMs + Self.slackMs) * 10_000)
      var known = known
      // What is told to be later than the start comes, wherever its name was seen.
      known[ExactString(channel), default: []].formUnion(
        names.filter { $0.timetoken > cutoff && $0.timetoken <= start.timetoken }.map(\.name)
      )
      let isOver = page.next == nil || (names.last.map { $0.timetoken <= cutoff } ?? false)
      return try join(
        isOver ? rest.dropFirst() : rest,
        from: start,
        since: since,
        known: known,
        next: isOver ? nil : page.next
      )
    }
  }

  mutating func add(_ interest: SubscriptionInterest, from start: FeedStart) {
    let now = start.isChosen ? remote.serverNowMs * 10_000 : start.timetoken.value
    let window = Timetoken(now - windowMs * 10_000)
    let names = interest.channels.map { ExactString($0) }
    for name in names where start.isChosen || channels[name] == nil {
      channels[name] = Channel(
        cutoff: min(window, start.timetoken),
        seen: start.known[name] ?? [],
        liveFrom: window,
        newest: start.timetoken
      )
      found.removeAll { $0.channel == name }
      if look?.channel == name { look = nil }
      due.removeAll { $0 == name }
      due.append(name)
    }
    generation += 1
  }

  mutating func remove(channels: [String]?, groups: [String]?) {
    let all = groups == nil ? Array(self.channels.keys) : []
    let names = channels.map { $0.map { ExactString($0) } } ?? all
    for name in names {
      self.channels[name] = nil
      if look?.channel == name { look = nil }
    }
    due.removeAll { self.channels[$0] == nil }
    found.removeAll { self.channels[$0.channel] == nil }
    generation += 1
  }

  var interest: SubscriptionInterest {
    SubscriptionInterest(channels: channels.keys.sorted().map(\.text))
  }

  var isIdle: Bool { channels.isEmpty }

  // MARK: Looking and fetching

  mutating func next(nowMs: Int64) -> FeedStep {
    asked = generation
    do throws(TransferError) {
      if !found.isEmpty {
        var requests: [HTTPRequest] = []
        for message in found.prefix(Self.width) {
          requests.append(try remote.get(message.key, channel: message.channel.text))
        }
        return .askAll(requests)
      }
      if look == nil, !due.isEmpty { look = Look(channel: due.removeFirst()) }
      if let look, let channel = channels[look.channel] {
        let request = try remote.listMessages(
          channel: look.channel.text,
          // A quiet channel costs a short answer.
          limit: look.next == nil ? channel.seen.count + 10 : 1000,
          next: look.next
        )
        return .ask(request)
      }
    } catch {
      // The server has turned out to be one that does not take the prefix.
      refusal = error
      return .ask(remote.probe)
    }
    due = channels.keys.sorted()
    return .wait(.milliseconds(remote.settings.pollIntervalMs))
  }

  mutating func receive(
    _ response: HTTPResponse,
    nowMs: Int64
  ) throws(TransferError) -> [ChannelMessage] {
    if let refusal {
      self.refusal = nil
      throw refusal
    }
    // Asked for before the channels changed: it is asked again.
    guard asked == generation else { return [] }
    if let first = found.first {
      let message = try remote.messageOrError(response, first.key, channel: first.channel.text)
      found.removeFirst()
      guard var message, let newest = channels[first.channel]?.newest else { return [] }
      message.isLate = message.timetoken < newest
      channels[first.channel]?.newest = max(newest, message.timetoken)
      return [message]
    }
    try take(list: response, nowMs: nowMs)
    return []
  }

  private mutating func take(list response: HTTPResponse, nowMs: Int64) throws(TransferError) {
    guard var look, let channel = channels[look.channel] else { return }
    let page = try remote.page(response)
    look.serverMs = look.serverMs ?? remote.date(of: response) ?? nowMs
    let names = try remote.messages(in: page, channel: look.channel.text).map(\.key)
    look.new += names.filter {
      $0.timetoken > channel.cutoff && !channel.seen.contains($0.name)
    }
    if look.new.count > Self.mostNew {
      look.new.removeFirst(look.new.count - Self.mostNew)
      look.isCut = true
    }
    look.next = page.next
    let isOver = page.next == nil || (names.last.map { $0.timetoken <= channel.cutoff } ?? false)
    self.look = isOver ? nil : look
    if isOver { finish(look, channel) }
  }

  /// Takes over what a look has found.
  private mutating func finish(_ look: Look, _ channel: Channel) {
    var channel = channel
    let serverMs = look.serverMs ?? 0
    let new = look.new.sorted()
    var cutoff = serverMs * 10_000 - windowMs * 10_000
    if look.isCut, let last = new.last {
      cutoff = min(cutoff, last.timetoken.value - 1)
      due.insert(look.channel, at: 0)
    }
    channel.cutoff = max(channel.cutoff, Timetoken(cutoff))
    channel.seen.formUnion(new.map(\.name))
    channel.seen = channel.seen.filter {
      MessageKey($0).map { $0.timetoken > channel.cutoff } ?? false
    }
    channels[look.channel] = channel
    found += new.filter { key in
      !key.isExpired(atMs: serverMs) && (key.isStored || key.timetoken > channel.liveFrom)
    }
    .map { Found(channel: look.channel, key: $0) }
  }
}
