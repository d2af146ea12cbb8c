import JSON
import SQLite
import TransferModel

extension JournalFiles {
  /// The row of an id.
  func row(_ id: TransferID) -> JournalRow? {
    let found = attempt { () throws(SQLiteError) -> JournalRow? in
      for file in self.files {
        if let row = try file.row(id) { return row }
      }
      return nil
    }
    return found ?? nil
  }

  /// The rows behind a place, of all files in one order.
  func page(after cursor: JournalCursor, limit: Int, state: TransferState?) -> JournalPage {
    var rows: [JournalRow] = []
    _ = attempt { () throws(SQLiteError) -> Void in
      rows = []
      for file in self.files {
        rows += try file.rows(after: cursor, limit: limit + 1, state: state)
      }
    }
    if files.count > 1 {
      rows.sort { ($0.number, $0.id.description) < ($1.number, $1.id.description) }
    }
    guard rows.count > limit else { return JournalPage(rows: rows) }
    rows.removeLast(rows.count - limit)
    let next = rows.last.map { JournalCursor(number: $0.number, id: $0.id.description) }
    return JournalPage(rows: rows, next: next ?? cursor)
  }

  /// The records of batches; of two with the same id one.
  func batches() -> [ExactString: [UInt8]] {
    attempt { () throws(SQLiteError) in
      var records: [ExactString: [UInt8]] = [:]
      for file in self.files {
        for (id, record) in try file.batches() where records[id] == nil { records[id] = record }
      }
      return records
    } ?? [:]
  }

  /// The highest number of all rows; 0 where there are none.
  func lastNumber() -> Int64 {
    attempt { () throws(SQLiteError) in
      var last: Int64 = 0
      for file in self.files { last = max(last, try file.lastNumber() ?? 0) }
      return last
    } ?? 0
  }
}
