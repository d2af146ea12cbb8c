import SQLite

/// The tables of a journal file.
enum JournalSchema {
  /// The version this code writes; it reads no other.
  static let version: Int64 = 1

  /// The columns of a row, in the order `JournalFile` reads and binds them.
  static let columns = [
    "id", "number", "method", "params", "identity", "remote", "direction", "state", "attempt",
    "loaded", "total", "spool", "progress", "snapshot", "payload", "updated", "run",
  ]

  /// States in which nothing more happens; not as a list, for which SQLite would make a table at
  /// every row that is written.
  static let settled =
    "(state = 'succeeded' OR state = 'failed' OR state = 'rejected' OR state = 'cancelled')"

  /// What one connection needs to know before its first look at the file.
  ///
  /// The exclusive mode comes first: with it a WAL has no shared memory file, and no second
  /// connection, which SQLite before 3.51.3 can lose pages to (https://sqlite.org/wal.html,
  /// "the WAL-reset bug"). The wait is for a process being killed: the kernel lets go of our lock
  /// before it lets go of SQLite's.
  static let connection = """
    PRAGMA busy_timeout = 1000;
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA cache_size = -256;
    PRAGMA temp_store = MEMORY;
    """

  /// What holds while it is written.
  static let mode = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA journal_size_limit = 1048576;
    """

  /// The tables of version 1.
  ///
  /// Times are milliseconds since 1970; `run` is a number of the process that last set the state.
  /// An ordinary table: without rowids, rows of this size take 5 to 14 times as long to write
  /// (20,000 rows of 400 bytes, SQLite 3.40.1: 2.6 s against 0.5 s to add, 4.1 against 0.3 to
  /// update).
  static let tables = """
    BEGIN;
    CREATE TABLE transfer (
      id TEXT PRIMARY KEY NOT NULL, number INTEGER NOT NULL, method TEXT NOT NULL,
      params BLOB NOT NULL, identity TEXT NOT NULL, remote TEXT NOT NULL,
      direction TEXT NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL,
      loaded INTEGER NOT NULL, total INTEGER, spool TEXT, progress BLOB,
      snapshot BLOB, payload BLOB, updated INTEGER NOT NULL, run INTEGER NOT NULL);
    CREATE INDEX transfer_order ON transfer (number);
    PRAGMA user_version = \(version);
    COMMIT;
    """ + batches

  /// What files of earlier versions lack: nothing but this was added, and what they have beyond is
  /// empty, so they are read as they are.
  static let batches = """
    CREATE TABLE IF NOT EXISTS batch (
      id TEXT PRIMARY KEY NOT NULL, record BLOB NOT NULL) WITHOUT ROWID;
    """
}
