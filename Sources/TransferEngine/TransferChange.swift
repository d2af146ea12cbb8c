package import TransferModel

/// What the engine tells about its transfers, in the order it happened.
package enum TransferChange: Sendable {
  /// A detached request was taken in; it precedes everything else about the transfer.
  case accepted(TransferID, Waiter)
  /// queued → running, once per attempt; total in bytes, nil while unknown.
  case started(ProgressSlot, attempt: Int, total: Int64?)
  case paused(ProgressSlot, loaded: Int64)
  case resumed(ProgressSlot, loaded: Int64)
  /// The one end of an attempt, with everyone who waits for it.
  case settled(TransferSettlement, [Waiter])
  /// A request joined a transfer that had ended already.
  case joined(TransferSettlement, Waiter)
  /// A request that was joined with others was cancelled alone.
  case withdrawn(TransferID, Waiter)
  /// A batch has changed beside its transfers.
  case batch(String)
  /// Everything before it has been consumed once this is called.
  case flushed(@Sendable () -> Void)
}

/// How a transfer ended.
package struct TransferSettlement: Sendable {
  package let id: TransferID
  /// The remote's name in the configuration.
  package let remote: String
  package let outcome: Outcome
  /// Whether a retry, or a later process, can still lead it to success.
  package let isResumable: Bool
  /// Bytes moved in the last attempt.
  package let loaded: Int64
  /// Bytes in all; nil while unknown.
  package let total: Int64?
  /// From 1.
  package let attempt: Int
  /// Where its progress was kept; the last report is in there.
  package let slot: ProgressSlot

  /// The four ends.
  package enum Outcome: Sendable {
    case succeeded(TransferResult)
    case failed(TransferError)
    case rejected(TransferError)
    case cancelled(TransferError)
  }
}

/// One request that waits for a transfer.
package final class Waiter: Sendable {
  /// Whether it wants the id at once rather than the end.
  package let isDetached: Bool
  /// Called once, by whoever consumes the changes.
  package let answer: @Sendable (Answer) -> Void
  /// Lets the request go until `TransferEngine`'s `revive` is given what this returns; nil where
  /// the request is over.
  package let park: @Sendable (TransferID) -> String?

  /// What a waiter is told.
  package enum Answer: Sendable {
    case accepted(TransferID)
    case settled(TransferSettlement)
    case withdrawn(TransferID)
  }

  /// Makes a waiter.
  package init(
    isDetached: Bool,
    park: @escaping @Sendable (TransferID) -> String?,
    answer: @escaping @Sendable (Answer) -> Void
  ) {
    self.isDetached = isDetached
    self.park = park
    self.answer = answer
  }
}
