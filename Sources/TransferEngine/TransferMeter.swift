internal import Synchronization
internal import TransferModel

/// How far a transfer over HTTP is: what is settled and what exchanges under way have moved.
///
/// Bytes of an exchange that failed are taken back and moved again, so the sum may fall; what is
/// shown never does within an attempt.
final class TransferMeter: Sendable {
  private let slot: ProgressSlot
  private let state = Mutex(State())

  private struct State {
    var settled: Int64 = 0
    var underWay: Int64 = 0
    var shown: Int64 = 0
  }

  init(slot: ProgressSlot) { self.slot = slot }

  /// Bytes were moved by an exchange, or taken back where negative.
  func moved(_ bytes: Int64) {
    state.withLock { state in
      state.underWay += bytes
      show(&state)
    }
  }

  /// An exchange has ended; all that is moved for good is `total`.
  func settle(_ total: Int64, ending bytes: Int64 = 0) {
    state.withLock { state in
      state.underWay -= bytes
      state.settled = total
      show(&state)
    }
  }

  /// Nothing is moved yet.
  func reset() { state.withLock { $0 = State() } }

  private func show(_ state: inout State) {
    // Forms have bytes around the content's.
    let moved = min(state.settled + state.underWay, slot.total ?? .max)
    guard moved > state.shown else { return }
    state.shown = moved
    slot.set(loaded: moved)
  }
}
