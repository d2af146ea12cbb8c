/// Where a transfer stands.
package enum TransferState: String, Sendable, CaseIterable {
  /// Accepted, waiting for a slot; next: running, paused, cancelled.
  case queued
  /// Moving bytes; next: paused or one of the ends.
  case running
  /// Stopped by the host, keeping what it has; next: queued, cancelled.
  case paused
  /// Done and verified.
  case succeeded
  /// Ended after it began; a retry makes it queued again.
  case failed
  /// Refused before any byte counted; the request itself must change.
  case rejected
  /// Ended by the host.
  case cancelled
  /// Left behind by an earlier process; next: queued, cancelled.
  case interrupted

  /// Whether nothing more happens without a new request.
  package var isSettled: Bool {
    switch self {
    case .succeeded, .failed, .rejected, .cancelled: true
    case .queued, .running, .paused, .interrupted: false
    }
  }
}

/// Which way bytes move, seen from the host.
package enum TransferDirection: String, Sendable, CaseIterable {
  case upload, download
}
