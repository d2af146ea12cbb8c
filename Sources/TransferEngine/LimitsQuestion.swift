internal import TransferModel

/// The question to one remote for its limits: under way, or failed and asked again later.
struct LimitsQuestion {
  /// Under way.
  var task: Task<Void, Never>?
  /// Why it failed the last time.
  private(set) var failure: TransferError?
  private var failures = 0
  private var due: ContinuousClock.Instant?

  /// Whether it is too early to ask again.
  var isResting: Bool { due.map { $0 > .now } ?? false }

  /// There are limits, or there is nothing to wait for.
  mutating func answered() { self = LimitsQuestion() }

  /// It is asked again after a pause, which is longer each time.
  mutating func failed(_ error: TransferError) {
    task = nil
    failure = error
    failures += 1
    due = .now + Backoff.delay(afterAttempt: failures + 3, random: .random(in: 0.5...1))
  }
}
