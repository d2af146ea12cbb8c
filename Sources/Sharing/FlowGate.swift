internal import Synchronization

/// Holds back whoever would make more output while the host does not read what there is.
final class FlowGate: Sendable {
  private let state = Mutex(State())

  private struct State {
    var isOpen = true
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  /// Opens or shuts the gate.
  func set(isOpen: Bool) {
    let waiters = state.withLock { state in
      state.isOpen = isOpen
      guard isOpen else { return [CheckedContinuation<Void, Never>]() }
      defer { state.waiters.removeAll() }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns once the gate is open.
  func pass() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiters.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}
