internal import Glibc
internal import TransferModel

/// How long a subscription waits after failures before it asks the same again, as a value.
struct FailurePace {
  private var failures = 0

  /// The longest pause of its own, in seconds.
  private static let longestPause = 32.0
  /// A question that was held so long keeps the pace by itself.
  private static let held: Duration = .seconds(10)

  /// The seconds between which the pause is to be chosen, after a question failed that had been
  /// under way for `duration`.
  ///
  /// What lies between cuts idle questions every minute or so: those that follow one another never
  /// make the pause longer.
  mutating func failed(
    _ error: TransferError,
    after duration: Duration
  ) -> ClosedRange<Double> {
    if duration >= Self.held, error.mayHaveArrived != false { failures = 0 }
    failures += 1
    let most = min(pow(2, Double(failures - 1)), Self.longestPause)
    let asked = Double(error.retryAfterMs ?? 0) / 1000
    return max(most / 4, asked)...max(most / 2, asked)
  }

  /// Begins anew.
  mutating func reset() { failures = 0 }
}
