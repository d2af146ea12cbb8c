import SQLite
import TransferModel

/// The tables of `index.db` and the rules by which a file is ours.
enum IndexSchema {
  /// The version this code makes.
  ///
  /// It works with version 1 as it is: a column more (`md5`), which is not read and written empty.
  static let version: Int64 = 2

  /// Makes the tables of an empty file; leaves a newer or foreign one alone.
  ///
  /// - Throws: `ERR_UNSUPPORTED` for an index of a newer version or another program.
  static func prepare(_ database: Database, path: String) throws(TransferError) {
    let found = try run(path) { () throws(SQLiteError) in
      // FULL: what a reply called durable survives a power cut.
      try database.execute(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -512"
      )
      let version = try database.first("PRAGMA user_version") { $0.integer(0) }
      let tables = try database.first("SELECT count(*) FROM sqlite_master") { $0.integer(0) }
      return (version: version ?? 0, tables: tables ?? 0)
    }
    guard found.version <= version else {
      throw TransferError(
        .unsupported,
        "the index \(path) has version \(found.version) and this ferry knows \(version): "
          + "use the newer ferry, or another root"
      )
    }
    guard found.version > 0 || found.tables == 0 else {
      throw TransferError(
        .unsupported,
        "\(path) is not an index of ferry's: choose another root"
      )
    }
    try run(path) { () throws(SQLiteError) in
      // PERSIST keeps the journal's file, which commits faster than making and removing it
      // (1.08 ms against 1.35 ms, ext4); the limit keeps one large commit from keeping it large.
      try database.execute("PRAGMA journal_mode = PERSIST; PRAGMA journal_size_limit = 1048576")
      guard found.version == 0 else { return }
      try database.execute(
        """
        BEGIN IMMEDIATE;
        \(tablesSQL)
        INSERT INTO clock VALUES (1, \(Clock.timetoken()));
        PRAGMA user_version = \(version);
        COMMIT;
        """
      )
    }
  }

  private static func run<Value>(
    _ path: String,
    _ body: () throws(SQLiteError) -> Value
  ) throws(TransferError) -> Value {
    do throws(SQLiteError) {
      return try body()
    } catch {
      throw TransferError(error, index: path)
    }
  }

  /// The tables of this version.
  ///
  /// Text compares by bytes (BINARY), which is the order listings promise. Times are in
  /// milliseconds since 1970; `content` and a file's `id` name a file below `content/`; a file's
  /// `announced` is the timetoken of its first announcement.
  private static let tablesSQL = """
    CREATE TABLE clock (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1), timetoken INTEGER NOT NULL);
    CREATE TABLE object (
      path TEXT PRIMARY KEY, content TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
      content_type TEXT NOT NULL, cache_control TEXT, content_disposition TEXT,
      content_encoding TEXT, content_language TEXT, created INTEGER NOT NULL,
      updated INTEGER NOT NULL, sha256 TEXT, generation INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE custom (
      path TEXT NOT NULL REFERENCES object ON DELETE CASCADE, key TEXT NOT NULL,
      value TEXT NOT NULL, PRIMARY KEY (path, key)) WITHOUT ROWID;
    CREATE TABLE file (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL, id TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL, size INTEGER NOT NULL, content_type TEXT, sha256 TEXT,
      created INTEGER NOT NULL, announced INTEGER);
    CREATE INDEX file_channel ON file (channel, seq);
    CREATE TABLE message (
      timetoken INTEGER PRIMARY KEY, channel TEXT NOT NULL, file_id TEXT NOT NULL,
      file_name TEXT NOT NULL, publisher TEXT, custom_type TEXT, body BLOB, meta BLOB,
      stored INTEGER NOT NULL, expires INTEGER);
    CREATE INDEX message_channel ON message (channel, timetoken);
    CREATE INDEX message_expires ON message (expires) WHERE expires IS NOT NULL;
    CREATE TABLE garbage (content TEXT PRIMARY KEY) WITHOUT ROWID;
    """
}
