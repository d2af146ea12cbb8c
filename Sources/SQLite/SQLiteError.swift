import CSQLite

/// A failure SQLite reported, with its own number and words.
package struct SQLiteError: Error, Sendable, Equatable {
  /// The extended result code (https://sqlite.org/rescode.html).
  package let code: Int32
  /// SQLite's words, read before any other call on the connection.
  package let message: String

  /// What the code means to someone who has to react to it.
  package enum Kind: Sendable, Equatable {
    /// Another connection holds a lock, or left work that needs the exclusive one.
    case busy
    /// No room on the disk.
    case full
    /// The file or its folder may not be written.
    case readOnly
    /// The file cannot be opened or made.
    case cannotOpen
    /// The file is damaged, or is no database at all.
    case damaged
    case inputOutput
    case constraint
    case other
  }

  /// What the code means to the wrapper's users.
  package var kind: Kind {
    switch code & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_FULL: .full
    case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .readOnly
    case SQLITE_CANTOPEN: .cannotOpen
    case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
    case SQLITE_IOERR: .inputOutput
    case SQLITE_CONSTRAINT: .constraint
    default: .other
    }
  }
}
