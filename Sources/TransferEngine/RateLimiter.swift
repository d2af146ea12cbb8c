internal import Synchronization

/// A cap on bytes per second, shared by all transfers of one direction.
///
/// A token bucket that may go into debt: whoever takes bytes waits until the debt before it is
/// paid, so nobody spins and a change of the rate acts on the next slice. Those who wait take turns.
package final class RateLimiter: Sendable {
  private let state: Mutex<State>

  private struct State {
    var rate: Int64?
    /// When the bytes taken so far will have been paid for.
    var paid: ContinuousClock.Instant
    /// In the order in which they first asked.
    var waiting: [Waiter] = []
  }

  private struct Waiter {
    let id: ObjectIdentifier
    var bytes: Int
    var asked: ContinuousClock.Instant
  }

  /// Tells one taker from another.
  private final class Taker {}

  /// Who has not asked again for so long has gone.
  private static let patience: Duration = .seconds(1)

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
    state.withLock { state in
      state.rate = rate
      state.paid = .now
      state.waiting = []
    }
  }

  /// The bytes worth moving at once: a tenth of a second's, at most `limit`.
  func slice(limit: Int) -> Int {
    guard let rate else { return limit }
    return max(1, min(limit, Int(rate / 10)))
  }

  /// Waits until a number of bytes may move.
  ///
  /// A piece smaller than a slice may be taken on credit, the more the smaller it is: tiny files
  /// do not queue behind the slices of large ones, and what they take is paid by whoever is next.
  /// - Throws: `CancellationError` when the task is cancelled meanwhile.
  func take(_ bytes: Int) async throws {
    let taker = Taker()
    defer { withExtendedLifetime(taker) {} }
    while let wait = admit(bytes, for: ObjectIdentifier(taker)) {
      // In steps, so that a rate that was raised or lifted meanwhile acts soon.
      try await Task.sleep(for: min(wait, .milliseconds(200)))
    }
  }

  /// Takes the bytes and returns nil, or says how long to wait before asking again, at most a second
  /// later or the turn is lost.
  func admit(_ bytes: Int, for id: ObjectIdentifier) -> Duration? {
    state.withLock { state in
      guard let rate = state.rate else { return nil }
      func cost(_ bytes: Int) -> Duration {
        .nanoseconds(Int64(Double(bytes) / Double(rate) * 1e9))
      }
      let now = ContinuousClock.now
      state.waiting.removeAll { $0.asked < now - Self.patience }
      let place = state.waiting.firstIndex { $0.id == id }
      let start = max(state.paid, now)
      let sliceShare = min(1, Double(bytes) / Double(max(1, rate / 10)))
      var wait = start - Self.credit * (1 - sliceShare) - now
      if sliceShare == 1 {
        wait += cost(state.waiting[..<(place ?? state.waiting.count)].reduce(0) { $0 + $1.bytes })
      }
      guard wait <= .zero else {
        let waiter = Waiter(id: id, bytes: bytes, asked: now)
        if let place { state.waiting[place] = waiter } else { state.waiting.append(waiter) }
        return wait
      }
      if let place { state.waiting.remove(at: place) }
      state.paid = start + cost(bytes)
      return nil
    }
  }
}
