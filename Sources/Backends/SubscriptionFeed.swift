package import JSON
package import TransferModel

/// Listening to channels of one remote, as a value that performs nothing itself.
///
/// Whoever performs it asks `next` what to do, sends what it says (or waits), and hands the answer
/// to `receive`, over and over, from one connection. What fails is tried again from the same
/// place, so nothing is lost between; an answer to what was asked before the channels changed is
/// not counted.
package protocol SubscriptionFeed: Sendable {
  /// Asks the remote whether and from when on channels can be listened to: from `since`, or now.
  func join(
    _ interest: SubscriptionInterest,
    since: Timetoken?
  ) throws(TransferError) -> RemoteCall<FeedStart>
  /// Listens to these too, from a moment that `join` gave; those already listened to go on as they
  /// were, unless the moment is one that the host chose.
  mutating func add(_ interest: SubscriptionInterest, from start: FeedStart)
  /// Listens no longer; nil: to none.
  mutating func remove(channels: [String]?, groups: [String]?)
  /// All that is listened to.
  var interest: SubscriptionInterest { get }
  /// Whether nothing is listened to.
  var isIdle: Bool { get }
  /// What to do now; only while something is listened to.
  mutating func next(nowMs: Int64) -> FeedStep
  /// What an answer to `next` brings, in order.
  /// - Throws: what the remote refused.
  mutating func receive(
    _ response: HTTPResponse,
    nowMs: Int64
  ) throws(TransferError) -> [ChannelMessage]
}

/// What a feed wants done.
package enum FeedStep: Sendable, Equatable {
  /// Ask this, and hand the answer over.
  case ask(HTTPRequest)
  /// Ask these at the same time, and hand the answers over one by one, in the questions' order.
  case askAll([HTTPRequest])
  /// Wait before the next question.
  case wait(Duration)
}

/// What a host wants to listen to.
package struct SubscriptionInterest: Sendable, Equatable {
  /// Names of channels, as the remote knows them.
  package var channels: [String]
  /// Names of groups of channels, which the remote keeps.
  package var groups: [String]
  /// What messages must be like, in the remote's own language; holds for all of the remote's
  /// channels, from now on.
  package var filter: String?

  /// Names what to listen to.
  package init(channels: [String], groups: [String] = [], filter: String? = nil) {
    self.channels = channels
    self.groups = groups
    self.filter = filter
  }
}

/// From when on channels are listened to.
package struct FeedStart: Sendable, Equatable {
  /// Messages after this moment come.
  package var timetoken: Timetoken
  /// What else the remote wants to hear again with it.
  package var region: String?
  /// Whether the host chose the moment.
  package var isChosen: Bool
  /// Of each channel the names of recent messages that are there already and do not come, where
  /// the remote's order is not the one in which messages appear.
  package var known: [ExactString: Set<String>]

  /// Makes a start.
  package init(
    _ timetoken: Timetoken,
    region: String? = nil,
    isChosen: Bool = false,
    known: [ExactString: Set<String>] = [:]
  ) {
    self.known = known
    self.timetoken = timetoken
    self.region = region
    self.isChosen = isChosen
  }
}
