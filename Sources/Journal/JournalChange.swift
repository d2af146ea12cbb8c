internal import JSON
package import TransferModel

/// One thing to write down about one transfer or batch.
package enum JournalChange: Sendable, Equatable {
  /// A transfer was accepted; a row of the same id is replaced.
  case add(JournalRow)
  /// A transfer went on; a row that is not there is not made.
  case update(TransferID, JournalUpdate)
  /// The transfer is to leave no trace.
  case forget(TransferID)
  /// A batch is as this says, which is opaque here; a record of the same id is replaced.
  case keepBatch(String, [UInt8])
  /// The batch is to leave no trace; its transfers are forgotten one by one.
  case forgetBatch(String)

  /// What a change is about.
  enum Subject: Hashable {
    case transfer(TransferID)
    case batch(ExactString)
  }

  var subject: Subject {
    switch self {
    case .add(let row): .transfer(row.id)
    case .update(let id, _), .forget(let id): .transfer(id)
    case .keepBatch(let id, _), .forgetBatch(let id): .batch(ExactString(id))
    }
  }

  var isAddition: Bool {
    switch self {
    case .add, .keepBatch: true
    case .update, .forget, .forgetBatch: false
    }
  }

  /// This change and a later one to the same transfer or batch as one.
  func followed(by later: JournalChange) -> JournalChange {
    switch (self, later) {
    case (_, .add), (_, .forget), (_, .keepBatch), (_, .forgetBatch): return later
    case (.forget, .update): return self
    case (.add(var row), .update(_, let update)):
      row.apply(update)
      return .add(row)
    case (.update(let id, var update), .update(_, let further)):
      update.merge(further)
      return .update(id, update)
    case (.keepBatch, .update), (.forgetBatch, .update):
      preconditionFailure("a change to a transfer follows one to a batch")
    }
  }
}
