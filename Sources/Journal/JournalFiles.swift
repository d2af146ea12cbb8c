import SQLite
import TransferModel

/// The journal files of a scope that this process owns; used by the journal's thread alone.
///
/// The first takes new rows, the others keep what dead processes left in them. A process that
/// finds files of dead ones goes on with one of them, so that there are never more files than
/// processes ran at the same time.
final class JournalFiles {
  let folder: String
  let run = Int64.random(in: 1 ... .max)
  var files: [JournalFile] = []
  /// Claims of files that were damaged while in use: their spools may still be.
  var retired: [JournalClaim] = []
  /// Names of files that this process cannot use.
  var passedOver: Set<String> = []
  private var saidCodes: Set<ErrorCode> = []
  let tell: @Sendable (TransferError) -> Void

  /// Files of a folder that need not exist; `tell` hears of each kind of trouble once.
  init(folder: String, tell: @escaping @Sendable (TransferError) -> Void) {
    self.folder = folder
    self.tell = tell
  }

  /// Writes changes in one transaction of each file they touch; false where they are not kept.
  func write(_ changes: [JournalChange]) -> Bool {
    attempt { () throws(SQLiteError) in
      guard self.canTake(changes) else { return false }
      try self.apply(changes)
      self.dropEmptyFiles()
      return true
    } ?? false
  }

  /// Runs statements; what fails is undone and told.
  ///
  /// - Returns: nil where they failed.
  func attempt<Value>(_ body: () throws(SQLiteError) -> Value) -> Value? {
    // The second time without the files that the first found damaged.
    for _ in 0..<2 {
      do throws(SQLiteError) {
        return try body()
      } catch {
        for file in files { file.rollBack() }
        if error.kind == .damaged, retireDamaged() { continue }
        say(TransferError(error, in: folder))
        return nil
      }
    }
    return nil
  }

  /// The file that takes new rows and spools, made where there is none.
  func ownFile() throws(TransferError) -> JournalFile {
    if let file = files.first {
      if file.claim.isNamed { return file }
      // Somebody removed the state folder: what would be written now nobody could find. What the
      // file has can still be read and changed.
    }
    try StateFolder.make(folder)
    let claim = try JournalClaim.make(in: folder)
    do throws(SQLiteError) {
      let file = try JournalFile.create(claim, run: run)
      files.insert(file, at: 0)
      return file
    } catch {
      claim.removeAll()
      throw TransferError(error, in: folder)
    }
  }

  /// Tells of trouble unless the same kind was told before.
  func say(_ error: TransferError) {
    if saidCodes.insert(error.code).inserted { tell(.notKept(error)) }
  }

  /// Ends the use of all files; one without rows is removed.
  func close() {
    for file in files where (try? file.isEmpty()) == true {
      file.claim.removeAll()
    }
    // Closing brings the log into the database, and must be done when the claim is let go.
    let claims = files.map(\.claim)
    files = []
    withExtendedLifetime(claims) {}
    for claim in retired { claim.removeAll() }
  }
}

extension JournalFiles {
  /// Whether there is a file for what is to be added; trouble is told.
  private func canTake(_ changes: [JournalChange]) -> Bool {
    guard changes.contains(where: \.isAddition) else { return true }
    do throws(TransferError) {
      _ = try ownFile()
      return true
    } catch {
      say(error)
      return false
    }
  }

  private func apply(_ changes: [JournalChange]) throws(SQLiteError) {
    guard !changes.isEmpty else { return }
    let now = Clock.milliseconds()
    for change in changes {
      switch change {
      case .add(let row):
        for file in files.dropFirst() {
          try file.begin()
          try file.delete(row.id)
        }
        try files[0].begin()
        try files[0].insert(row, at: now)
      case .update(let id, let update):
        for file in files {
          try file.begin()
          if try file.update(id, update, at: now) { break }
        }
      case .forget(let id):
        for file in files {
          try file.begin()
          try file.delete(id)
        }
      case .keepBatch(let id, let record):
        for file in files.dropFirst() {
          try file.begin()
          try file.delete(batch: id)
        }
        try files[0].begin()
        try files[0].keep(batch: id, record)
      case .forgetBatch(let id):
        for file in files {
          try file.begin()
          try file.delete(batch: id)
        }
      }
    }
    for file in files { try file.commit() }
  }

  /// Removes the files, but for the first, whose last row is gone.
  private func dropEmptyFiles() {
    for file in files.dropFirst() where file.hasLost {
      file.hasLost = false
      guard (try? file.isEmpty()) == true else { continue }
      files.removeAll { $0 === file }
      file.claim.removeAll()
    }
  }

  /// Moves the files aside that are damaged; false where none is.
  private func retireDamaged() -> Bool {
    let claims = files.filter { !$0.isSound }.map(\.claim)
    // They are closed before they are renamed.
    files.removeAll { file in claims.contains { $0 === file.claim } }
    for claim in claims {
      retired.append(claim)
      do throws(TransferError) {
        tell(.damagedJournal(claim.database, as: try claim.moveAside(), "found while in use"))
      } catch {
        say(error)
      }
    }
    return !claims.isEmpty
  }
}
