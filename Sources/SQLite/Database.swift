import CSQLite

/// One connection to an SQLite file, used by one thread at a time.
///
/// Statements are prepared once per SQL text and kept; every call leaves them reset, so no read
/// transaction outlives the call that needed it.
package final class Database {
  private let connection: OpaquePointer
  private var statements: [String: OpaquePointer] = [:]

  /// Opens the file, making it where it does not exist.
  ///
  /// Nothing of the file is read yet: a damaged one shows at the first statement.
  package init(path: String) throws(SQLiteError) {
    var handle: OpaquePointer?
    // NOMUTEX: the owner uses one thread at a time, so SQLite need not lock.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    let code = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_EXRESCODE, nil)
    guard let handle else {
      throw SQLiteError(code: SQLITE_NOMEM, message: "no memory for a connection")
    }
    guard code == SQLITE_OK else {
      let error = SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)))
      sqlite3_close_v2(handle)
      throw error
    }
    connection = handle
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close_v2(connection)
  }

  /// Whether no transaction is open: SQLite ends one by itself after some failures.
  package var isAutocommit: Bool { sqlite3_get_autocommit(connection) != 0 }

  /// How many rows the last `run` changed.
  package var changes: Int { Int(sqlite3_changes(connection)) }

  /// Runs SQL of any number of statements, without values or rows.
  package func execute(_ sql: String) throws(SQLiteError) {
    try check(sqlite3_exec(connection, sql, nil, nil, nil))
  }

  /// Runs one statement to its end.
  package func run(_ sql: String, _ values: SQLValue...) throws(SQLiteError) {
    try step(through: sql, values) { _ in true }
  }

  /// Runs one statement to its end; the values as one array.
  package func run(_ sql: String, values: [SQLValue]) throws(SQLiteError) {
    try step(through: sql, values) { _ in true }
  }

  /// The first row of a query; nil where there is none.
  package func first<Value>(
    _ sql: String,
    _ values: SQLValue...,
    row: (borrowing SQLRow) -> Value
  ) throws(SQLiteError) -> Value? {
    var value: Value?
    try step(through: sql, values) { current in
      value = row(current)
      return false
    }
    return value
  }

  /// All rows of a query, in its order.
  package func all<Value>(
    _ sql: String,
    _ values: SQLValue...,
    row: (borrowing SQLRow) -> Value
  ) throws(SQLiteError) -> [Value] {
    try all(sql, values: values, row: row)
  }

  /// All rows of a query, in its order; the values as one array.
  package func all<Value>(
    _ sql: String,
    values: [SQLValue],
    row: (borrowing SQLRow) -> Value
  ) throws(SQLiteError) -> [Value] {
    var result: [Value] = []
    try step(through: sql, values) { current in
      result.append(row(current))
      return true
    }
    return result
  }

  /// Rows of a query, in its order, for as long as the closure returns true.
  package func forEach(
    _ sql: String,
    _ values: SQLValue...,
    row: (borrowing SQLRow) -> Bool
  ) throws(SQLiteError) {
    try step(through: sql, values, row)
  }

  private func step(
    through sql: String,
    _ values: [SQLValue],
    _ row: (borrowing SQLRow) -> Bool
  ) throws(SQLiteError) {
    let statement = try prepared(sql)
    // The reset repeats the code of a failed step, which was thrown already.
    defer { sqlite3_reset(statement) }
    precondition(
      Int(sqlite3_bind_parameter_count(statement)) == values.count,
      "values of: \(sql)"
    )
    for (index, value) in values.enumerated() { try bind(value, to: Int32(index + 1), statement) }
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_ROW else { throw failure(code) }
      guard row(SQLRow(statement)) else { return }
    }
  }

  private func prepared(_ sql: String) throws(SQLiteError) -> OpaquePointer {
    if let statement = statements[sql] { return statement }
    var statement: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    try check(sqlite3_prepare_v3(connection, sql, -1, flags, &statement, nil))
    guard let statement else { preconditionFailure("no statement in: \(sql)") }
    statements[sql] = statement
    return statement
  }

  private func bind(
    _ value: SQLValue,
    to index: Int32,
    _ statement: OpaquePointer
  ) throws(SQLiteError) {
    switch value {
    case .null:
      try check(sqlite3_bind_null(statement, index))
    case .integer(let number):
      try check(sqlite3_bind_int64(statement, index, number))
    case .text(let text):
      var text = text
      let code = text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          csqlite_bind_text(statement, index, $0.baseAddress, Int32($0.count))
        }
      }
      try check(code)
    case .blob(let bytes):
      guard !bytes.isEmpty else { return try check(sqlite3_bind_zeroblob(statement, index, 0)) }
      let code = bytes.withUnsafeBytes {
        csqlite_bind_blob(statement, index, $0.baseAddress, Int32($0.count))
      }
      try check(code)
    }
  }

  private func check(_ code: Int32) throws(SQLiteError) {
    guard code == SQLITE_OK else { throw failure(code) }
  }

  private func failure(_ code: Int32) -> SQLiteError {
    SQLiteError(code: code, message: String(cString: sqlite3_errmsg(connection)))
  }
}
