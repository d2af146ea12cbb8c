internal import Synchronization

/// How many requests one remote is sent at the same time: halved whenever it says that it is asked
/// too much, and one more after every ten seconds without that.
final class ConcurrencyGate: Sendable {
  private let state: Mutex<State>

  private struct State {
    var limit: Int
    var inUse = 0
    var waiting: [(id: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    var nextID = 0
    var changed: ContinuousClock.Instant = .now
  }

  private let ceiling: Int
  private static let growth: Duration = .seconds(10)

  /// A gate that lets so many through until the remote complains.
  init(ceiling: Int) {
    self.ceiling = ceiling
    state = Mutex(State(limit: ceiling))
  }

  /// Waits for room; false where the task was cancelled meanwhile.
  ///
  /// Each true is followed by one `leave`.
  func enter() async -> Bool {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: Bool? = state.withLock { state in
          if Task.isCancelled { return false }
          guard state.inUse >= state.limit else {
            state.inUse += 1
            return true
          }
          state.waiting.append((id, continuation))
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      let continuation = state.withLock { state in
        state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
      }
      continuation?.resume(returning: false)
    }
  }

  /// A request has ended; `isThrottled`: the remote said that it is asked too much.
  func leave(isThrottled: Bool) {
    let next = state.withLock { state in
      let now = ContinuousClock.now
      state.inUse -= 1
      if isThrottled {
        // Answers to requests of the same burst say nothing new.
        if now - state.changed > .seconds(1) || state.limit == ceiling {
          state.limit = max(1, state.limit / 2)
          state.changed = now
        }
      } else if state.limit < ceiling, now - state.changed > Self.growth {
        state.limit += 1
        state.changed = now
      }
      let room = min(max(0, state.limit - state.inUse), state.waiting.count)
      let next = Array(state.waiting.prefix(room))
      state.waiting.removeFirst(room)
      state.inUse += room
      return next
    }
    for waiter in next { waiter.continuation.resume(returning: true) }
  }
}
