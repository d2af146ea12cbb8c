import TransferModel

/// A place in the order of all rows: by number, then by id.
package struct JournalCursor: Sendable, Equatable {
  /// The number of the row before.
  package let number: Int64
  /// The id of the row before.
  package let id: String

  /// The place right behind a row of this number and id.
  package init(number: Int64, id: String) {
    self.number = number
    self.id = id
  }

  /// Before all rows.
  package static let start = JournalCursor(number: .min, id: "")
}

/// Some rows in their order.
package struct JournalPage: Sendable, Equatable {
  /// In their order.
  package var rows: [JournalRow] = []
  /// Where the next page starts; nil behind the last row.
  package var next: JournalCursor?
}

/// What is known of an id this process has not got.
package enum JournalFinding: Sendable, Equatable {
  case row(JournalRow)
  /// No process of the scope has it.
  case unknown
  /// Another process that lives has it.
  case heldByAnother
}
