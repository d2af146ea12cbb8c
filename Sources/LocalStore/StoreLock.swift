import CLinux
import Glibc
import LocalFiles
import TransferModel

/// The file whose clinux_flock(2) every access to the index is made under, shared by all processes.
///
/// flock blocks in the kernel, so nobody polls, and ends with its process, so nobody waits for
/// the dead. SQLite's own locks would make writers poll.
final class StoreLock {
  private let descriptor: Int32
  private let path: String

  enum Mode { case shared, exclusive }

  /// Opens the lock file, making it where it does not exist.
  init(path: String) throws(TransferError) {
    descriptor = clinux_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .fromErrno(errno, doing: "open", path: path) }
    self.path = path
  }

  deinit { close(descriptor) }

  /// Whether the file still has a name: false after somebody removed the store.
  var exists: Bool {
    var info = stat()
    return fstat(descriptor, &info) == 0 && info.st_nlink > 0
  }

  /// Runs the closure under the lock.
  func hold<Value>(
    _ mode: Mode,
    _ body: () throws(TransferError) -> Value
  ) throws(TransferError) -> Value {
    while clinux_flock(descriptor, mode == .shared ? LOCK_SH : LOCK_EX) != 0 {
      guard errno == EINTR else { throw .fromErrno(errno, doing: "lock", path: path) }
    }
    defer { _ = clinux_flock(descriptor, LOCK_UN) }
    return try body()
  }
}
