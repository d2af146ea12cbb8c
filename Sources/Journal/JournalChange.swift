package import TransferModel

/// One thing to write down about one transfer.
package enum JournalChange: Sendable, Equatable {
  /// A transfer was accepted; a row of the same id is replaced.
  case add(JournalRow)
  /// A transfer went on; a row that is not there is not made.
  case update(TransferID, JournalUpdate)
  /// The transfer is to leave no trace.
  case forget(TransferID)

  var id: TransferID {
    switch self {
    case .add(let row): row.id
    case .update(let id, _), .forget(let id): id
    }
  }

  var isAddition: Bool {
    if case .add = self { true } else { false }
  }

  /// This change and a later one to the same transfer as one.
  func followed(by later: JournalChange) -> JournalChange {
    switch (self, later) {
    case (_, .add), (_, .forget): return later
    case (.forget, .update): return self
    case (.add(var row), .update(_, let update)):
      row.apply(update)
      return .add(row)
    case (.update(let id, var update), .update(_, let further)):
      update.merge(further)
      return .update(id, update)
    }
  }
}

/// What a change must survive before its writer goes on.
package enum JournalDurability: Sendable, Equatable {
  /// The death of the process: committed to the write-ahead log.
  case process
  /// A power cut: synced to the disk as well.
  case power
}
