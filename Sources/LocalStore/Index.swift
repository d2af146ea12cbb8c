import CLinux
import Glibc
import LocalFiles
import SQLite
import TransferModel

/// The open index of a store, used by the store's thread only.
///
/// The methods in the extensions work inside the transaction that `perform` opens.
final class Index {
  let layout: StoreLayout
  let lock: StoreLock
  let database: Database
  /// What the running transaction has done outside the database.
  var effects = Effects()
  /// Content that is unlinked and whose garbage rows the next transaction drops.
  var cleared: [String] = []
  /// When expired messages were last removed, in milliseconds since 1970.
  var purgedMs: Int64 = 0
  private let bell: Int32

  struct Effects {
    /// Ids linked into `content`: unlinked when the transaction fails.
    var linked: [String] = []
    /// Ids no row names any more: unlinked once the transaction has committed.
    var removed: [String] = []
    /// Folders below `content` with new entries: synced before the transaction commits.
    var folders: Set<String> = []
    var isAnnounced = false
  }

  /// Opens the index, making what does not exist yet, and removes what dead processes left.
  init(layout: StoreLayout) throws(TransferError) {
    try layout.create()
    self.layout = layout
    lock = try StoreLock(path: layout.lock)
    bell = clinux_open(layout.bell, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard bell >= 0 else { throw .fromErrno(errno, doing: "open", path: layout.bell) }
    let path = layout.index
    // SQLite would make it readable to others, and its journal takes the same mode. Not opened
    // where it exists: closing it would let go of the locks SQLite holds on it in this process.
    let made = clinux_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if made >= 0 { close(made) }
    do throws(SQLiteError) {
      database = try Database(path: path)
    } catch {
      throw TransferError(error, index: path)
    }
    try lock.hold(.exclusive) { () throws(TransferError) in
      try IndexSchema.prepare(database, path: path)
      reserveJournal()
      try sweep()
    }
  }

  deinit { close(bell) }

  /// Keeps room for the rollback journal, so that deleting works when the disk is full.
  ///
  /// The blocks lie behind the file's end and SQLite writes into them. Where they cannot be had,
  /// deleting is as limited as anything else.
  private func reserveJournal() {
    let journal = clinux_open(layout.index + "-journal", O_RDWR | O_CLOEXEC, 0)
    guard journal >= 0 else { return }
    _ = clinux_fallocate(journal, 1, 0, 1 << 20)
    close(journal)
  }

  /// Wakes subscribers in all processes.
  ///
  /// It happens before the commit, under the exclusive lock: they wake, wait for the lock and
  /// find the message. After the commit, a kill between the two would leave them asleep.
  func ring() {
    var byte: UInt8 = 1
    // Overwriting the one byte needs no room; where it fails all the same, a changed time wakes too.
    if pwrite(bell, &byte, 1, 0) != 1 { futimens(bell, nil) }
  }
}

// MARK: - Statements, with errors as callers get them

extension Index {
  func execute(_ sql: String) throws(TransferError) {
    try mapped { () throws(SQLiteError) in try database.execute(sql) }
  }

  /// Runs a closure of statements.
  func mapped<Value>(
    _ body: () throws(SQLiteError) -> Value
  ) throws(TransferError) -> Value {
    do throws(SQLiteError) {
      return try body()
    } catch {
      throw TransferError(error, index: layout.index)
    }
  }
}
