import CLinux
import Glibc
import SQLite
import TransferModel

/// One database of the journal, its claim and its one connection; used by one thread.
final class JournalFile {
  let claim: JournalClaim
  /// The number of this process in the rows it sets.
  let run: Int64
  let database: Database
  private(set) var isInTransaction = false
  /// What the open transaction does to the list of ids: their words, and whether they are gone.
  var words: [UInt64: Bool] = [:]
  /// Whether rows left since the last look at `isEmpty`.
  var hasLost = false

  /// What a file turned out to be.
  enum Opened {
    case file(JournalFile)
    /// There is no file, or none that was ever written: its owner died while it came or went.
    case nothing
    case newer(Int64)
    case damaged(String)
    case failed(SQLiteError)
  }

  /// Opens what a dead process left, finishing or undoing its last transaction.
  static func open(_ claim: JournalClaim, run: Int64) -> Opened {
    guard access(claim.database, F_OK) == 0 else { return .nothing }
    // SQLite would take an empty file for a new one and drop its log.
    if size(claim.database) == 0, size(claim.database + "-wal") > 0 {
      return .damaged("it is empty, but its log is not")
    }
    do throws(SQLiteError) {
      let database = try Database(path: claim.database)
      try database.execute(JournalSchema.connection)
      let version = try database.first("PRAGMA user_version") { $0.integer(0) } ?? 0
      if version > JournalSchema.version { return .newer(version) }
      if version == 0 {
        let tables = try database.first("SELECT count(*) FROM sqlite_master") { $0.integer(0) }
        return tables == 0 ? .nothing : .damaged("it is not a journal of ferry's")
      }
      if let finding = try check(database) { return .damaged(finding) }
      try database.execute(JournalSchema.mode + JournalSchema.batches)
      return .file(JournalFile(claim, database, run: run))
    } catch {
      return error.kind == .damaged ? .damaged(error.message) : .failed(error)
    }
  }

  /// Makes an empty file.
  static func create(_ claim: JournalClaim, run: Int64) throws(SQLiteError) -> JournalFile {
    // SQLite would make it readable to others; its log takes the same mode.
    let made = creat(claim.database, 0o600)
    if made >= 0 { close(made) }
    let database = try Database(path: claim.database)
    try database.execute(JournalSchema.connection + JournalSchema.mode + JournalSchema.tables)
    return JournalFile(claim, database, run: run)
  }

  private init(_ claim: JournalClaim, _ database: Database, run: Int64) {
    self.claim = claim
    self.database = database
    self.run = run
  }

  /// Whether SQLite finds the file in order.
  var isSound: Bool {
    do throws(SQLiteError) {
      return try Self.check(database) == nil
    } catch {
      return error.kind != .damaged
    }
  }

  /// What is wrong with a database; nil when it is in order.
  private static func check(_ database: Database) throws(SQLiteError) -> String? {
    let finding = try database.first("PRAGMA quick_check(1)") { $0.text(0) }
    return finding == "ok" ? nil : finding ?? "it cannot be checked"
  }

  private static func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}

// MARK: - Transactions

extension JournalFile {
  /// Begins a transaction, unless one is open.
  func begin() throws(SQLiteError) {
    guard !isInTransaction else { return }
    try database.run("BEGIN")
    isInTransaction = true
  }

  /// Commits, if a transaction is open; ids are listed before and taken off the list after, so that
  /// nothing committed is missing from it.
  func commit() throws(SQLiteError) {
    guard isInTransaction else { return }
    claim.heldIDs.append(words.compactMap { $0.value ? nil : $0.key })
    try database.run("COMMIT")
    isInTransaction = false
    claim.heldIDs.append(words.compactMap { $0.value ? $0.key | 1 : nil })
    words = [:]
    if claim.heldIDs.size > HeldIDs.limit { try listIDs() }
  }

  /// Undoes the open transaction, if any.
  func rollBack() {
    // Where this fails, SQLite has rolled back by itself.
    if !database.isAutocommit { try? database.run("ROLLBACK") }
    isInTransaction = false
    words = [:]
  }

  /// Writes the list of ids in the lock file anew.
  func listIDs() throws(SQLiteError) {
    let words = try database.all("SELECT id FROM transfer") { HeldIDs.word($0.text(0)) }
    claim.heldIDs.replace(words)
  }
}
