import CLinux
import Glibc

/// The lock that tells a living writer's file from a dead one's.
enum FileLock {
  /// What came of trying.
  enum Outcome { case taken, held, unsupported }

  /// flock(2), exclusive, without waiting; gone when the descriptor is closed.
  static func take(_ descriptor: Int32) -> Outcome {
    while clinux_flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      switch errno {
      case EINTR: continue
      case EWOULDBLOCK: return .held
      default: return .unsupported
      }
    }
    return .taken
  }

  /// As ``take(_:)``, waiting for whoever looks at the file just now.
  static func wait(_ descriptor: Int32) -> Outcome {
    while clinux_flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { return .unsupported }
    }
    return .taken
  }

  /// Lets it go while the descriptor stays open.
  static func release(_ descriptor: Int32) { _ = clinux_flock(descriptor, LOCK_UN) }
}
