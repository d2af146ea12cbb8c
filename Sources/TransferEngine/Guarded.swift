internal import Glibc

/// A value behind a lock that is not handed from thread to thread.
///
/// `Synchronization.Mutex` gives a lock that is waited for to the first who waits, by two system
/// calls, even where that one sleeps: with many short visits everybody then waits for somebody to
/// wake. Here whoever runs takes it.
// Sendable because `value` is touched with the mutex held only, and the pointer never changes.
final class Guarded<Value: ~Copyable>: @unchecked Sendable {
  private var value: Value
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  /// Guards a value.
  init(_ value: consuming sending Value) {
    self.value = value
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Looks at or changes the value; nobody else does meanwhile.
  func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}
