internal import Synchronization

/// How often requests to one remote may be sent again.
///
/// A bucket of tokens after AWS's standard retry mode: a retry takes some, every success gives one
/// back. A remote that is down is thus not asked `retries` times by every transfer.
final class RetryBudget: Sendable {
  private let tokens = Mutex(RetryBudget.capacity)

  private static let capacity = 500
  private static let cost = 5

  /// Takes what one retry costs; false where too little is left.
  func takeRetry() -> Bool {
    tokens.withLock { tokens in
      guard tokens >= Self.cost else { return false }
      tokens -= Self.cost
      return true
    }
  }

  /// A request was answered well.
  func succeeded() {
    tokens.withLock { $0 = min(Self.capacity, $0 + 1) }
  }
}

/// How long to wait before the next attempt: "full jitter" over a doubling bound.
enum Backoff {
  private static let base: Duration = .milliseconds(200)
  private static let limit: Duration = .seconds(20)

  /// The wait after a failed attempt, counted from 1; `random` is from 0 to 1.
  static func delay(afterAttempt attempt: Int, random: Double) -> Duration {
    let bound = min(limit, base * (1 << min(attempt - 1, 16)))
    return bound * random
  }
}
