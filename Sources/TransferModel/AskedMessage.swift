/// A message that was asked for and may have been made, by what it is found.
package struct AskedMessage: Sendable, Equatable {
  /// Where it is told.
  package var channel: String
  /// The ids that the remote gave the files it shows, in their order; at least one.
  package var fileIDs: [String]
  /// What its sender tells it by, where it is a media message.
  package var muid: String?
  /// The message it answers in its thread.
  package var parent: Timetoken?
  /// When it was asked for, in milliseconds since 1970 by this machine's clock.
  package var askedMs: Int64
  /// Whether the channel's history keeps it.
  package var isKept: Bool
  /// Until when the history keeps it, as `askedMs`; nil: as long as its own policy says.
  package var expiresMs: Int64?

  /// Describes a message.
  package init(
    channel: String,
    fileIDs: [String],
    muid: String? = nil,
    parent: Timetoken? = nil,
    askedMs: Int64,
    isKept: Bool = true,
    expiresMs: Int64? = nil
  ) {
    self.channel = channel
    self.fileIDs = fileIDs
    self.muid = muid
    self.parent = parent
    self.askedMs = askedMs
    self.isKept = isKept
    self.expiresMs = expiresMs
  }

  /// What a finding says that was made by a moment: a history shows no message that has expired.
  package func judge(_ finding: MessageFinding, atMs moment: Int64) -> MessageFinding {
    guard finding == .absent, let expiresMs, moment >= expiresMs else { return finding }
    return .unknown
  }
}

/// What became of a message that was asked for.
package enum MessageFinding: Sendable, Equatable {
  case made(Timetoken)
  /// It is not there, and will not be.
  case absent
  /// Nobody can tell: it is not kept, or lies behind more messages than are looked through.
  case unknown
}

extension TransferError {
  /// Whether a message whose request ended so may have been made all the same.
  package var leavesDoubt: Bool {
    guard mayHaveArrived != false else { return false }
    return switch code {
    case .network, .server, .uploadStalled, .downloadStalled, .retryLimitExceeded, .unknown,
      .cancelled:
      true
    default: false
    }
  }
}
