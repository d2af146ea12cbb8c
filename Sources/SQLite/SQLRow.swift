import CSQLite

/// The row a query stands on; columns count from 0 and are read while the row is at hand.
package struct SQLRow: ~Copyable {
  private let statement: OpaquePointer

  init(_ statement: OpaquePointer) { self.statement = statement }

  /// The column as an integer; 0 for NULL.
  package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

  /// The column as an integer; nil for NULL.
  package func optionalInteger(_ column: Int32) -> Int64? {
    isNull(column) ? nil : integer(column)
  }

  /// The column as text, NULs inside it kept; empty for NULL.
  package func text(_ column: Int32) -> String {
    guard let bytes = sqlite3_column_text(statement, column) else { return "" }
    let count = Int(sqlite3_column_bytes(statement, column))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  /// The column as text; nil for NULL.
  package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

  /// The column's bytes; nil for NULL.
  package func optionalBlob(_ column: Int32) -> [UInt8]? {
    guard !isNull(column) else { return nil }
    let count = Int(sqlite3_column_bytes(statement, column))
    return [UInt8](
      UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, column), count: count)
    )
  }

  private func isNull(_ column: Int32) -> Bool {
    sqlite3_column_type(statement, column) == SQLITE_NULL
  }
}
