package import TransferModel

/// How often an upload has asked for its message, and what to do when that fails.
package struct PublishAttempts: Sendable {
  private let limit: Int
  private var count = 0
  /// Why the last one failed.
  private var failure: TransferError?

  /// None yet, of so many in all.
  package init(limit: Int) { self.limit = limit }

  /// What follows a failure.
  package enum Next: Sendable, Equatable {
    case giveUp
    /// It was not taken: ask again.
    case again
    /// It may have been taken: find out.
    case look
  }

  /// Counts another one.
  /// - Returns: what to wait before: a quarter of a second, then twice as long each time, or as long
  ///   as the service asks for.
  package mutating func begin() -> Duration {
    count += 1
    guard count > 1, let failure else { return .zero }
    let own = 250 << min(count - 2, 5)
    return .milliseconds(max(Int64(own), failure.retryAfterMs ?? 0))
  }

  /// The last one failed.
  package mutating func failed(_ error: TransferError) -> Next {
    failure = error
    guard error.isRetryable, count < limit else { return .giveUp }
    return error.leavesDoubt ? .look : .again
  }
}

extension TransferError {
  /// A place in a storage that was not given, for good where it was refused (`isFinal`); what is about
  /// who asks, how often or what there is at all (`kept`) stays itself.
  package func withoutSlot(isFinal: Bool, keeping kept: Set<ErrorCode>) -> TransferError {
    if kept.contains(code) { return self }
    var error = self
    error.cause = .init(code: code, httpStatus: httpStatus)
    error.code = .presignedURLFailed
    error.retryableOverride = !isFinal
    return error
  }
}
