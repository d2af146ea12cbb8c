import CLinux
import Glibc
import LocalFiles
import TransferModel

/// The right to a journal file and its spool, held by a lock that ends with the process.
///
/// It is flock(2) on a file of its own beside the database: closing a second descriptor of the
/// database itself would let go of the POSIX locks SQLite holds on it. The file lists the ids of
/// the database's rows (`HeldIDs`), which another process may not read from the database.
final class JournalClaim {
  let folder: String
  let name: String
  private let lock: Int32

  var lockPath: String { Self.lockPath(name, in: folder) }
  var database: String { "\(folder)/\(name).db" }
  var spool: String { "\(folder)/\(name).spool" }
  var heldIDs: HeldIDs { HeldIDs(lock) }

  /// Whether the lock file still has its name: somebody may have removed the state folder.
  var isNamed: Bool {
    var status = stat()
    return fstat(lock, &status) == 0 && status.st_nlink > 0
  }

  static func lockPath(_ name: String, in folder: String) -> String { "\(folder)/\(name).lock" }

  /// Claims a name that nothing has.
  static func make(in folder: String) throws(TransferError) -> JournalClaim {
    while true {
      let name = RandomName.make()
      // Between its making and its locking another start may have swept it away; then anew.
      if let claim = try open(name, in: folder, O_EXCL) { return claim }
    }
  }

  /// Claims what a dead process left; nil while its owner lives.
  static func take(_ name: String, in folder: String) throws(TransferError) -> JournalClaim? {
    try open(name, in: folder, 0)
  }

  private static func open(
    _ name: String,
    in folder: String,
    _ flag: Int32
  ) throws(TransferError) -> JournalClaim? {
    let path = lockPath(name, in: folder)
    let lock = clinux_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flag, 0o600)
    guard lock >= 0 else {
      if errno == EEXIST || errno == EINTR { return nil }
      throw .fromErrno(errno, doing: "open", path: path)
    }
    let claim = JournalClaim(folder: folder, name: name, lock: lock)
    while clinux_flock(lock, LOCK_EX | LOCK_NB) != 0 {
      if errno == EWOULDBLOCK { return nil }
      guard errno == EINTR else { throw .fromErrno(errno, doing: "lock", path: path) }
    }
    return claim.isNamed ? claim : nil
  }

  private init(folder: String, name: String, lock: Int32) {
    self.folder = folder
    self.name = name
    self.lock = lock
  }

  deinit { close(lock) }

  /// Removes all files of the claim, the lock last: until then nobody else touches them.
  func removeAll() {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(database + suffix) }
    StateFolder.remove(spool)
    unlink(lockPath)
  }

  /// Gives a damaged database another name, which it returns; its spool and lock stay.
  func moveAside() throws(TransferError) -> String {
    let aside = "\(database).damaged-\(Clock.milliseconds())"
    guard rename(database, aside) == 0 else {
      throw .fromErrno(errno, doing: "rename the damaged", path: database)
    }
    for suffix in ["-journal", "-wal"] { rename(database + suffix, aside + suffix) }
    return aside
  }
}

/// The wall clock.
enum Clock {
  /// Milliseconds since 1970.
  static func milliseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }
}
