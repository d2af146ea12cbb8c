internal import JSONRPC
internal import Synchronization

/// Calls that wait for a disk or a network: some run, the others wait their turn.
///
/// Without it a host that asks for thousands of pages and reads none would have them all made
/// before the first makes the output congested.
final class CallQueue: Sendable {
  private let outbox: Outbox
  private let onRefusal: @Sendable () -> Void
  private let state = Mutex(State())

  fileprivate struct State {
    var running = 0
    var waiting: [Work] = []
    var head = 0
  }

  /// One call's work.
  struct Work: Sendable {
    let call: Call
    let run: @Sendable () async -> Void
  }

  /// Enough to keep a disk busy; each may have a line of output in the making.
  private static let width = 16

  /// `onRefusal` is called for each call that is refused when its turn comes.
  init(outbox: Outbox, onRefusal: @escaping @Sendable () -> Void) {
    self.outbox = outbox
    self.onRefusal = onRefusal
  }

  /// Runs work now or when its turn comes.
  func add(_ work: Work) {
    let runs = state.withLock { state in
      guard state.running < Self.width else {
        state.waiting.append(work)
        return false
      }
      state.running += 1
      return true
    }
    // Ends when nothing waits; shutting down waits for the calls, not for the task.
    if runs { Task { await self.run(work) } }
  }

  private func run(_ first: Work) async {
    var next: Work? = first
    while let work = next {
      if await !outbox.admitsQueuedWork() {
        onRefusal()
        work.call.fail(.unread)
      } else if !work.call.isCancelled {
        await work.run()
      }
      next = state.withLock { $0.next() }
    }
  }
}

extension CallQueue.State {
  /// The work whose turn it is; nil gives the place back.
  fileprivate mutating func next() -> CallQueue.Work? {
    guard head < waiting.count else {
      waiting.removeAll()
      head = 0
      running -= 1
      return nil
    }
    head += 1
    let work = waiting[head - 1]
    if head >= 256, head * 2 >= waiting.count {
      waiting.removeFirst(head)
      head = 0
    }
    return work
  }
}
