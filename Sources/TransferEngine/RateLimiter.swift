internal import Synchronization

/// A cap on bytes per second, shared by all transfers of one direction.
///
/// A token bucket that may go into debt: whoever takes bytes waits until the debt before it is
/// paid, so nobody spins. A change of the rate wakes those who wait and acts on them too.
package final class RateLimiter: Sendable {
  private let state: Mutex<State>

  private struct State {
    var rate: Int64?
    /// When the bytes taken so far will have been paid for.
    var paid: ContinuousClock.Instant
    /// How often the rate was changed.
    var changes = 0
    var sleepers: [Int: Task<Void, any Error>] = [:]
    var lastSleeper = 0
  }

  /// Bytes that are somebody's, and when they may move.
  private struct Share {
    let bytes: Int
    let start: ContinuousClock.Instant
    let changes: Int
  }

  /// How far ahead of its payment the smallest piece may go.
  private static let credit: Duration = .milliseconds(250)

  /// A limiter of a number of bytes per second; nil: no cap.
  package init(rate: Int64?) {
    state = Mutex(State(rate: rate, paid: .now))
  }

  /// The cap in bytes per second; nil: none.
  package var rate: Int64? { state.withLock { $0.rate } }

  /// Changes the cap.
  package func set(rate: Int64?) {
    let sleepers = state.withLock { state in
      state.rate = rate
      state.paid = .now
      state.changes += 1
      defer { state.sleepers = [:] }
      return state.sleepers.values
    }
    for sleeper in sleepers { sleeper.cancel() }
  }

  /// The bytes worth moving at once: a tenth of a second's, at most `limit`.
  func slice(limit: Int) -> Int { state.withLock { Self.slice(of: limit, $0.rate) } }

  private static func slice(of limit: Int, _ rate: Int64?) -> Int {
    guard let rate else { return limit }
    return max(1, min(limit, Int(rate / 10)))
  }

  /// Waits until a slice of at most a number of bytes may move.
  ///
  /// A piece smaller than a slice may be taken on credit, the more the smaller it is: tiny files
  /// do not queue behind the slices of large ones, and what they take is paid by whoever is next.
  /// - Returns: the bytes that may move.
  /// - Throws: `CancellationError` when the task is cancelled meanwhile.
  func take(upTo limit: Int) async throws -> Int {
    while true {
      let share = state.withLock { state in Self.share(of: limit, &state) }
      guard share.start > .now else { return share.bytes }
      if try await waits(for: share) { return share.bytes }
    }
  }

  private static func share(of limit: Int, _ state: inout State) -> Share {
    guard let rate = state.rate else {
      return Share(bytes: limit, start: .now, changes: state.changes)
    }
    let bytes = slice(of: limit, rate)
    let start = max(state.paid, .now)
    state.paid = start + .nanoseconds(Int64(Double(bytes) / Double(rate) * 1e9))
    let sliceShare = min(1, Double(bytes) / Double(max(1, rate / 10)))
    return Share(
      bytes: bytes,
      start: start - credit * (1 - sliceShare),
      changes: state.changes
    )
  }

  /// Waits for a share's time; false where the rate was changed meanwhile.
  private func waits(for share: Share) async throws -> Bool {
    let sleep = Task { try await Task.sleep(until: share.start, clock: .continuous) }
    let sleeper = state.withLock { state -> Int? in
      guard state.changes == share.changes else { return nil }
      state.lastSleeper += 1
      state.sleepers[state.lastSleeper] = sleep
      return state.lastSleeper
    }
    guard let sleeper else {
      sleep.cancel()
      return false
    }
    await withTaskCancellationHandler {
      // How it ended shows below.
      _ = await sleep.result
    } onCancel: {
      sleep.cancel()
    }
    let isUnchanged = state.withLock { state in
      state.sleepers[sleeper] = nil
      return state.changes == share.changes
    }
    try Task.checkCancellation()
    return isUnchanged
  }
}
