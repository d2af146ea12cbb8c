internal import Glibc

/// A value behind a lock on which threads can wait for a change.
///
/// Only threads of our own wait here, never one of the cooperative pool.
// Sendable because `state` is touched with the mutex held only, and the two pointers never change.
final class Monitor<State>: @unchecked Sendable {
  /// What a waiting thread does after a look at the state.
  enum Step<Result> {
    case done(Result)
    /// Look again at the next change, or at `until` at the latest.
    case again(until: ContinuousClock.Instant?)
  }

  private var state: State
  private var waiters = 0
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  /// Guards `state`.
  init(_ state: State) {
    self.state = state
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Looks at or changes the state without waking anyone.
  func withLock<Result>(_ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&state)
  }

  /// Changes the state and wakes the threads that wait, if any do.
  func change<Result>(_ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    let result = body(&state)
    let wake = waiters > 0
    pthread_mutex_unlock(mutex)
    if wake { pthread_cond_broadcast(condition) }
    return result
  }

  /// Changes the state and wakes the threads that wait when `body` returns true.
  func wakeIf(_ body: (inout State) -> Bool) {
    pthread_mutex_lock(mutex)
    let wake = body(&state) && waiters > 0
    pthread_mutex_unlock(mutex)
    // After the unlock, so that the woken thread does not run into it at once.
    if wake { pthread_cond_broadcast(condition) }
  }

  /// Blocks the thread until `step`, called with the lock held, says it is done.
  func wait<Result>(_ step: (inout State) -> Step<Result>) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      switch step(&state) {
      case .done(let result): return result
      case .again(let deadline): sleep(until: deadline)
      }
    }
  }

  private func sleep(until deadline: ContinuousClock.Instant?) {
    waiters += 1
    defer { waiters -= 1 }
    guard let deadline else {
      pthread_cond_wait(condition, mutex)
      return
    }
    let rest = max(.zero, deadline - .now).components
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    time.tv_sec += Int(rest.seconds)
    time.tv_nsec += Int(rest.attoseconds / 1_000_000_000)
    if time.tv_nsec >= 1_000_000_000 {
      time.tv_sec += 1
      time.tv_nsec -= 1_000_000_000
    }
    pthread_cond_timedwait(condition, mutex, &time)
  }
}
