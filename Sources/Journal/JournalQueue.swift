import Dispatch
import Synchronization
import TransferModel

/// What the journal's thread has yet to do.
///
/// Changes wait until somebody awaits one, until there are 256 of them or for 5 ms, and are then
/// taken together. Those to one transfer become one change, so what waits is bounded by the
/// number of transfers and their order is kept.
final class JournalQueue: Sendable {
  /// Told whether the changes are kept.
  typealias Waiter = @Sendable (Bool) -> Void
  /// A question, asked when the changes before it are committed; nil for a closed journal.
  typealias Question = @Sendable (JournalFiles?) -> Void

  /// What is done together.
  struct Batch {
    var changes: [JournalChange] = []
    var waiters: [Waiter] = []
    var questions: [Question] = []

    fileprivate var isUrgent: Bool {
      !waiters.isEmpty || !questions.isEmpty || changes.count >= 256
    }
  }

  private struct State {
    var batch = Batch()
    var places: [JournalChange.Subject: Int] = [:]
    var sleep = Sleep.no
    var isClosed = false
  }

  /// What the thread waits for.
  private enum Sleep { case no, untilAny, untilUrgent }

  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)
  private static let longestWait = DispatchTimeInterval.milliseconds(5)

  /// Adds changes; the waiter is told in any case.
  func add(_ changes: [JournalChange], waiter: Waiter? = nil) {
    let isTaken = change { batch, places in
      for change in changes {
        if let place = places[change.subject] {
          batch.changes[place] = batch.changes[place].followed(by: change)
        } else {
          places[change.subject] = batch.changes.count
          batch.changes.append(change)
        }
      }
      if let waiter { batch.waiters.append(waiter) }
    }
    // From elsewhere: the caller may hold what the waiter needs.
    if !isTaken, let waiter { DispatchQueue.global().async { waiter(false) } }
  }

  /// Adds a question; it is answered in any case.
  func ask(_ question: @escaping Question) {
    if !change({ batch, _ in batch.questions.append(question) }) {
      DispatchQueue.global().async { question(nil) }
    }
  }

  /// Takes nothing more; what was taken is still done.
  func close() {
    state.withLock { $0.isClosed = true }
    wake.signal()
  }

  /// Waits for something to do; nil when the queue is closed and all is done.
  func next() -> Batch? {
    var hasWaited = false
    while true {
      let (batch, sleep) = state.withLock { state -> (Batch?, Sleep) in
        state.sleep = .no
        let isEmpty = state.batch.changes.isEmpty && !state.batch.isUrgent
        if isEmpty, state.isClosed { return (nil, .no) }
        guard isEmpty || !hasWaited && !state.batch.isUrgent && !state.isClosed else {
          defer {
            state.batch = Batch()
            state.places.removeAll(keepingCapacity: state.places.count < 1024)
          }
          return (state.batch, .no)
        }
        state.sleep = isEmpty ? .untilAny : .untilUrgent
        return (nil, state.sleep)
      }
      switch sleep {
      case .no: return batch
      case .untilAny: wake.wait()
      case .untilUrgent: hasWaited = wake.wait(timeout: .now() + Self.longestWait) == .timedOut
      }
    }
  }

  /// Changes what waits and wakes the thread if it is time; false once closed.
  private func change(_ body: (inout Batch, inout [JournalChange.Subject: Int]) -> Void) -> Bool {
    let (isTaken, wakes) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      body(&state.batch, &state.places)
      switch state.sleep {
      case .no: return (true, false)
      case .untilUrgent where !state.batch.isUrgent: return (true, false)
      case .untilAny, .untilUrgent:
        state.sleep = .no
        return (true, true)
      }
    }
    if wakes { wake.signal() }
    return isTaken
  }
}
