internal import Synchronization

/// How many paused transfers keep their files open, with digests in the making: descriptors are
/// few, and the others go on as in a later process.
final class OpenPauses: Sendable {
  private static let most = 16
  private let count = Mutex(0)

  /// Whether one more may.
  func take() -> Bool {
    count.withLock { count in
      guard count < Self.most else { return false }
      count += 1
      return true
    }
  }

  /// One goes on, or is gone.
  func giveBack() { count.withLock { $0 -= 1 } }
}
