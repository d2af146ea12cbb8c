import Foundation
import SQLite
import Testing

@Suite struct DatabaseTests {
  private let path = "/tmp/ferry-sqlite-\(UUID().uuidString)"

  private func withDatabase(_ body: (Database) throws -> Void) throws {
    defer { for end in ["", "-journal"] { unlink(path + end) } }
    try body(try Database(path: path))
  }

  static let values: [SQLValue] = [
    .null, .integer(.min), .integer(.max), .integer(0), .text(""), .text("nul\0inside\0"),
    .text("é e\u{301} 🇩🇪"), .text(String(repeating: "x", count: 1 << 20)), .blob([]),
    .blob([0, 255, 0]), "literal", 7, .optional(Int64?.none), .optional("some"),
    .optional([UInt8]?.none),
  ]

  @Test(arguments: values)
  func `a value comes back as it was bound`(_ value: SQLValue) throws {
    try withDatabase { database in
      let found = try database.first("SELECT ?1, typeof(?1)", value) { row -> SQLValue in
        switch row.text(1) {
        case "integer": .optional(row.optionalInteger(0))
        case "text": .optional(row.optionalText(0))
        case "blob": .optional(row.optionalBlob(0))
        default: row.optionalText(0) == nil && row.text(0) == "" ? .null : 0
        }
      }
      #expect(found == value)
    }
  }

  @Test func `rows come in order, stopping early leaves no transaction, statements are reused`()
    throws
  {
    try withDatabase { database in
      try database.execute("CREATE TABLE t (n INTEGER); BEGIN; INSERT INTO t VALUES (3), (1), (2)")
      #expect(!database.isAutocommit)
      try database.run("COMMIT")
      #expect(database.isAutocommit)
      for _ in 0..<3 {
        #expect(try database.all("SELECT n FROM t ORDER BY n") { $0.integer(0) } == [1, 2, 3])
        #expect(try database.first("SELECT n FROM t ORDER BY n") { $0.integer(0) } == 1)
        var seen: [Int64] = []
        try database.forEach("SELECT n FROM t WHERE n > ? ORDER BY n", 0) { row in
          seen.append(row.integer(0))
          return seen.count < 2
        }
        #expect(seen == [1, 2])
        // A statement left standing would keep its read lock and make this fail.
        try Database(path: path).execute("BEGIN EXCLUSIVE; COMMIT")
      }
      #expect(try database.first("SELECT n FROM t WHERE n = 9") { $0.integer(0) } == nil)
      try database.run("DELETE FROM t WHERE n > ?", 1)
      #expect(database.changes == 2)
    }
  }

  /// The error the closure fails with.
  private func error(_ body: () throws -> Void) -> SQLiteError? {
    do {
      try body()
      return nil
    } catch {
      return error as? SQLiteError
    }
  }

  @Test func `failures say what kind they are, in SQLite's words`() throws {
    try withDatabase { database in
      try database.execute("CREATE TABLE t (n INTEGER UNIQUE); INSERT INTO t VALUES (1)")
      let twice = error { try database.run("INSERT INTO t VALUES (1)") }
      #expect(twice?.kind == .constraint)
      #expect(twice?.message == "UNIQUE constraint failed: t.n")
      #expect(error { try database.run("nonsense") }?.kind == .other)

      let other = try Database(path: path)
      try other.execute("BEGIN EXCLUSIVE")
      #expect(error { try database.run("INSERT INTO t VALUES (2)") }?.kind == .busy)
      try other.execute("COMMIT; PRAGMA query_only = ON")
      #expect(error { try other.run("INSERT INTO t VALUES (2)") }?.kind == .readOnly)

      try database.execute("PRAGMA max_page_count = 4")
      let full = error { try database.run("INSERT INTO t VALUES (zeroblob(100000))") }
      #expect(full?.kind == .full)
      #expect(error { _ = try Database(path: "/none/such").run("SELECT 1") }?.kind == .cannotOpen)
    }
  }

  @Test func `what is no database is damaged`() throws {
    defer { unlink(path) }
    try Data(repeating: 65, count: 5000).write(to: URL(fileURLWithPath: path))
    let database = try Database(path: path)
    #expect(error { try database.run("SELECT * FROM sqlite_master") }?.kind == .damaged)
  }
}
