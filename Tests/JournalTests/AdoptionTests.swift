import Foundation
import SQLite
import Testing
import TransferModel

@testable import Journal

@Suite struct AdoptionTests {
  private let state: State

  init() throws { state = try State() }

  /// Three processes that are killed after each added a row.
  private func killThree(into scope: String) async throws {
    let journals = (0..<3).map { _ in state.journal("living") }
    for (number, journal) in journals.enumerated() {
      #expect(
        await journal.write(
          [.add(row("of \(number)", Int64(number))), .add(row("also of \(number)", 9))])
      )
      journal.write(.forget(.named("also of \(number)")))
      #expect(await journal.row(.named("also of \(number)")) == nil)
    }
    #expect(state.names("living", ending: ".db").count == 3)
    try state.kill("living", into: scope)
    for journal in journals { await journal.close() }
  }

  @Test func `one start takes over what three killed processes left, where it lies`() async throws {
    try await killThree(into: "dead")
    let files = state.names("dead", ending: ".db")
    let journal = state.journal("dead")
    let rows =
      await journal.page(limit: 2).rows
      + journal.page(
        after: JournalCursor(number: 1, id: "of 1"),
        limit: 2
      ).rows
    #expect(rows.map(\.id.description) == ["of 0", "of 1", "of 2"])
    #expect(rows.allSatisfy { $0.state == .interrupted })
    #expect(await journal.lastNumber() == 2)
    #expect(state.names("dead", ending: ".db") == files)

    // Changes reach a row in whichever file it is; new rows need no file of their own.
    for number in 0..<3 { journal.write(.update(.named("of \(number)"), loaded(5))) }
    await journal.write([.add(row("new", 3))])
    #expect(await journal.page(limit: 9).rows.map(\.loaded) == [5, 5, 5, 0])
    #expect(state.names("dead", ending: ".db") == files)

    // A file goes with its last row, the one for new rows at the end.
    for number in 0..<3 { journal.write(.forget(.named("of \(number)"))) }
    #expect(await journal.page(limit: 9).rows.map(\.id.description) == ["new"])
    #expect(state.names("dead", ending: ".db").count == 1)
    journal.write(.forget(.named("new")))
    await journal.close()
    #expect(state.names("dead") == [])
    #expect(state.told == [])
  }

  @Test func `processes one after another leave one file`() async {
    for number in 0..<5 {
      let journal = state.journal()
      await journal.write([.add(row("\(number)", Int64(number)))])
      await journal.close()
    }
    #expect(state.names().map { $0.split(separator: ".").last } == ["db", "lock"])
    let journal = state.journal()
    #expect(await journal.page(limit: 9).rows.count == 5)
    await journal.close()
  }

  @Test func `other scopes are not touched, however their keys are spelt`() async {
    let keys = [
      "s", "S", "a/b", "a_b", "a%2Fb", "../s", ".", "", "s\0", String(repeating: "é", count: 300),
    ]
    let journals = keys.map { state.journal($0) }
    for (number, journal) in journals.enumerated() {
      await journal.write([.add(row("\(number)"))])
    }
    for journal in journals { await journal.close() }
    for (number, key) in keys.enumerated() {
      let journal = state.journal(key)
      #expect(await journal.page(limit: 99).rows.map(\.id.description) == ["\(number)"])
      await journal.close()
    }
    #expect(state.names("").count == keys.count)
    #expect(state.told == [])
  }

  @Test func `the files of a living process are left alone, and only its ids are waited for`()
    async throws
  {
    let living = state.journal()
    await living.write([.add(row("held")), .add(row("gone"))])
    await living.write([.forget(.named("gone"))])
    let journal = state.journal()
    #expect(await journal.page(limit: 9) == JournalPage())
    // Not to be answered at once would take a minute.
    let minute = Duration.seconds(60)
    #expect(await journal.find(.named("new"), patience: minute) == .unknown)
    #expect(await journal.find(.named("gone"), patience: minute) == .unknown)
    #expect(await journal.find(.named("held"), patience: .milliseconds(50)) == .heldByAnother)
    let waiting = Task { await journal.find(.named("held"), patience: minute) }
    waiting.cancel()
    #expect(await waiting.value == .heldByAnother)

    async let found = journal.find(.named("held"), patience: minute)
    await living.close()
    guard case .row(let row) = await found else {
      Issue.record("not found after its process ended")
      return
    }
    #expect(row.state == .interrupted)
    await journal.write(
      [.update(.named("held"), .settled(.succeeded, snapshot: []))])
    #expect(await journal.row(.named("held"))?.state == .succeeded)
    await journal.close()
    #expect(state.names(ending: ".db").count == 1)
  }

  @Test func `a file whose lock is free but that is still open is taken when it is closed`()
    async throws
  {
    let first = state.journal()
    await first.write([.add(row("a"))])
    await first.close()
    let path = "\(state.folder())/\(try #require(state.names(ending: ".db").first))"
    let journal: Journal
    do {
      let database = try Database(path: path)
      try database.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE")
      journal = state.journal()
      #expect(await journal.page(limit: 9) == JournalPage())
      #expect(state.told.map(\.code) == [.unknown])
      #expect(state.told.first?.message.contains("another program") == true)
      try database.execute("COMMIT")
    }
    guard case .row = await journal.find(.named("a"), patience: .seconds(60)) else {
      Issue.record("not found after it was closed")
      return
    }
    await journal.close()
  }

  @Test func `of an id in two files the row that was written last counts`() async throws {
    let journals = [state.journal("two"), state.journal("two")]
    for journal in journals {
      await journal.write([.add(row("same")), .add(row("other", 2))])
      // Not in the same millisecond.
      let now = Clock.milliseconds()
      while Clock.milliseconds() == now {}
    }
    await journals[0].write([.update(.named("same"), loaded(7))])
    for journal in journals { await journal.close() }
    let journal = state.journal("two")
    let rows = await journal.page(limit: 9).rows
    #expect(rows.map(\.id.description) == ["same", "other"])
    #expect(rows.map(\.loaded) == [7, 0])
    await journal.close()
  }

  @Test func `what a process that died while it came or went left is swept away`() async throws {
    let folder = state.folder()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let left = ["a.lock", "b.lock", "b.db", "c.lock", "c.db-wal", "d.db", "e.lock"]
    for name in left {
      #expect(FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: nil))
    }
    try Data([1, 2, 3]).write(to: URL(filePath: "\(folder)/c.db-wal"))
    try FileManager.default.createDirectory(
      atPath: "\(folder)/e.spool",
      withIntermediateDirectories: true
    )
    try Data([1]).write(to: URL(filePath: "\(folder)/e.spool/x"))
    let journal = state.journal()
    #expect(await journal.page(limit: 1) == JournalPage())
    await journal.close()
    #expect(state.names() == [])
    #expect(state.told == [])
  }

  @Test func `a long list of ids is written anew and stays true`() async throws {
    let journal = state.journal()
    await journal.write([.add(row("first"))])
    let lock = "\(state.folder())/\(try #require(state.names(ending: ".lock").first))"
    let handle = try #require(FileHandle(forWritingAtPath: lock))
    try handle.truncate(atOffset: UInt64(HeldIDs.limit))
    try handle.close()
    await journal.write([.add(row("last")), .add(row("gone"))])
    await journal.write([.forget(.named("gone"))])
    for (id, isHeld) in [("first", true), ("last", true), ("gone", false), ("no", false)] {
      #expect(HeldIDs.contains(.named(id), in: lock) == isHeld, "\(id)")
    }
    #expect(try FileManager.default.attributesOfItem(atPath: lock)[.size] as? Int == 32)
    await journal.close()
  }

  @Test func `a file that has columns of an earlier version is read and written`() async throws {
    var old = state.journal()
    await old.write([.add(row("a"))])
    await old.close()
    let path = "\(state.folder())/\(try #require(state.names(ending: ".db").first))"
    try Database(path: path).execute(
      "ALTER TABLE transfer ADD COLUMN temporary TEXT; ALTER TABLE transfer ADD COLUMN checkpoint BLOB"
    )
    old = state.journal()
    await old.write([.update(.named("a"), loaded(7)), .add(row("b", 2))])
    #expect(await old.page(limit: 9).rows.map(\.loaded) == [7, 0])
    await old.close()
    #expect(state.told == [])
  }

  @Test func `an id is held until its removal is committed`() throws {
    try StateFolder.make(state.folder())
    let claim = try JournalClaim.make(in: state.folder())
    let file = try JournalFile.create(claim, run: 1)
    func write(_ body: () throws -> Void) throws -> Bool {
      try file.begin()
      try body()
      try file.commit()
      return HeldIDs.contains(.named("a"), in: claim.lockPath)
    }
    #expect(try write { try file.insert(row("a"), at: 1) })
    // What is checked at the commit makes it fail.
    try file.database.execute(
      """
      PRAGMA foreign_keys = ON;
      CREATE TABLE late (id TEXT REFERENCES batch (id) DEFERRABLE INITIALLY DEFERRED);
      """
    )
    #expect(throws: SQLiteError.self) {
      try write {
        try file.delete(.named("a"))
        try file.database.run("INSERT INTO late VALUES ('no batch')")
      }
    }
    file.rollBack()
    #expect(try file.row(.named("a")) != nil)
    #expect(HeldIDs.contains(.named("a"), in: claim.lockPath))
    let isHeld = try write {
      try file.delete(.named("a"))
      try file.insert(row("a"), at: 2)
    }
    #expect(isHeld)
    #expect(try !write { try file.delete(.named("a")) })
    claim.removeAll()
  }

  @Test func `folders and files are for their user alone`() async throws {
    let journal = state.journal()
    await journal.write([.add(row("a"))])
    _ = try await journal.makeSpool()
    for case let name as String in try #require(FileManager.default.enumerator(atPath: state.path))
    {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(state.path)/\(name)")
      let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
      #expect(attributes[.posixPermissions] as? Int == (isFolder ? 0o700 : 0o600), "\(name)")
    }
    #expect(state.names(ending: "-wal").count == 1 && state.names(ending: "-shm") == [])
    await journal.close()
  }
}
