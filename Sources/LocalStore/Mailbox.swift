import Glibc

/// A queue between any threads that put and one that takes and may block.
///
/// `@unchecked Sendable`: every access to `elements` and `isClosed` happens under `mutex`.
final class Mailbox<Element: Sendable>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var elements: [Element] = []
  private var isClosed = false

  init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(mutex)
    changed.deallocate()
    mutex.deallocate()
  }

  /// Adds elements, to be taken together where the limit allows; false once closed.
  func put(_ added: [Element]) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    guard !isClosed else { return false }
    elements += added
    pthread_cond_signal(changed)
    return true
  }

  /// Takes no more elements; those taken in are still handed out.
  func close() {
    pthread_mutex_lock(mutex)
    isClosed = true
    pthread_cond_signal(changed)
    pthread_mutex_unlock(mutex)
  }

  /// The oldest elements, waiting for one; empty only when closed and nothing is left.
  func take(atMost limit: Int) -> [Element] {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while elements.isEmpty && !isClosed { pthread_cond_wait(changed, mutex) }
    let taken = Array(elements.prefix(limit))
    elements.removeFirst(taken.count)
    return taken
  }
}
