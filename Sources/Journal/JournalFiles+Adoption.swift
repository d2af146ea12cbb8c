import SQLite
import TransferModel

extension JournalFiles {
  /// Takes over what dead processes of the scope left; what living ones own is left alone.
  func adopt() {
    do throws(TransferError) {
      for name in try foreignNames() where !passedOver.contains(name) {
        if let claim = try JournalClaim.take(name, in: folder) { adopt(claim) }
      }
    } catch {
      say(error)
    }
  }

  /// The row of an id; where there is none, what other processes of the scope say.
  func find(_ id: TransferID) -> JournalFinding {
    if let row = row(id) { return .row(row) }
    guard isListedElsewhere(id) else { return .unknown }
    adopt()
    if let row = row(id) { return .row(row) }
    return isListedElsewhere(id) ? .heldByAnother : .unknown
  }

  private func adopt(_ claim: JournalClaim) {
    switch JournalFile.open(claim, run: run) {
    case .file(let file):
      take(file)
    case .nothing:
      claim.removeAll()
    case .newer(let version):
      passedOver.insert(claim.name)
      tell(.newerJournal(claim.database, version: version))
    case .damaged(let why):
      do throws(TransferError) {
        tell(.damagedJournal(claim.database, as: try claim.moveAside(), why))
        claim.removeAll()
      } catch {
        passedOver.insert(claim.name)
        say(error)
      }
    case .failed(let error):
      // Who has it open may let it go.
      if error.kind != .busy { passedOver.insert(claim.name) }
      say(TransferError(error, in: folder))
    }
  }

  private func take(_ file: JournalFile) {
    let kept = attempt { () throws(SQLiteError) -> Set<String>? in
      try self.dropDuplicates(of: file)
      if try file.isEmpty() { return nil }
      try file.listIDs()
      return try file.spools()
    }
    switch kept {
    case .some(.some(let spools)):
      StateFolder.remove(file.claim.spool, keeping: spools)
      files.append(file)
    case .some(nil):
      file.claim.removeAll()
    case nil:
      // Told already; the next start may have more luck.
      passedOver.insert(file.claim.name)
    }
  }

  /// Of rows that another file has too, keeps the one that was written last.
  private func dropDuplicates(of file: JournalFile) throws(SQLiteError) {
    guard !files.isEmpty else { return }
    for (text, updated) in try file.ids() {
      guard let id = TransferID(text) else { continue }
      for other in files {
        guard let row = try other.row(id) else { continue }
        let older = row.updatedMs < updated ? other : file
        try older.begin()
        try older.delete(id)
      }
    }
    try file.commit()
    for other in files { try other.commit() }
  }

  private func isListedElsewhere(_ id: TransferID) -> Bool {
    // A folder that cannot be listed was told when it was opened.
    ((try? foreignNames()) ?? []).contains {
      HeldIDs.contains(id, in: JournalClaim.lockPath($0, in: folder))
    }
  }

  /// The names of claims in the folder that are not this process's.
  private func foreignNames() throws(TransferError) -> [String] {
    let own = Set(files.map(\.claim.name) + retired.map(\.name))
    let found = try StateFolder.names(in: folder).compactMap { name -> String? in
      let parts = name.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2, ["db", "lock", "spool"].contains(parts[1]) else { return nil }
      return String(parts[0])
    }
    return Set(found).subtracting(own).sorted()
  }
}
