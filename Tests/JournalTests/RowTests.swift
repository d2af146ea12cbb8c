import JSON
import Testing
import TransferModel

@testable import Journal

@Suite struct RowTests {
  private let state: State
  private let journal: Journal

  init() throws {
    state = try State()
    journal = state.journal()
  }

  @Test func `a row comes back as it was added, and goes when forgotten`() async throws {
    var full = row("full", 7)
    full.payload = [1, 2]
    full.spool = "/s/é\0s"
    full.progress = []
    full.snapshot = [4]
    full.total = 9
    #expect(await journal.write([.add(full), .add(row("bare", 8))]))
    var back = try #require(await journal.row(full.id))
    #expect(back.updatedMs > 1_700_000_000_000)
    back.updatedMs = 0
    #expect(back == full)
    var bare = try #require(await journal.row(.named("bare")))
    bare.updatedMs = 0
    #expect(bare == row("bare", 8))
    #expect(await journal.lastNumber() == 8)

    journal.write(.forget(full.id), .forget(bare.id))
    #expect(await journal.row(full.id) == nil)
    #expect(await journal.page(limit: 1) == JournalPage())
    await journal.close()
    #expect(state.names() == [])
    #expect(state.told == [])
  }

  @Test func `an update sets what it names, empties what it says and leaves the rest`() async {
    var first = row("a")
    first.total = 10
    first.snapshot = [1]
    first.payload = [2]
    await journal.write([.add(first)])
    var update = JournalUpdate()
    update.state = .running
    update.attempt = 2
    update.loaded = 5
    update.total = .some(nil)
    update.payload = .some(nil)
    update.progress = [9]
    await journal.write([.update(first.id, update)])
    await journal.write([.update(.named("nobody"), update)])
    var expected = first
    expected.apply(update)
    var back = await journal.row(first.id)
    back?.updatedMs = 0
    #expect(back == expected)
    #expect(back?.total == nil && back?.payload == nil && back?.snapshot == [1])
    #expect(await journal.page(limit: 10).rows.count == 1)
    await journal.close()
  }

  @Test(arguments: TransferState.allCases)
  func `a state is kept, and what was unsettled is interrupted in the next process`(
    kept: TransferState
  ) async throws {
    await journal.write([.add(row("a")), .add(row("b", 2))])
    var update = JournalUpdate.settled(kept, snapshot: [1])
    update.loaded = 3
    await journal.write([.update(.named("a"), update)])
    #expect(await journal.row(.named("a"))?.state == kept)
    for state in TransferState.allCases {
      let ids = await journal.page(limit: 9, state: state).rows.map(\.id.description)
      #expect(ids.contains("a") == (state == kept))
      #expect(ids.contains("b") == (state == .queued))
    }
    await journal.close()

    let next = state.journal()
    let seen = kept.isSettled ? kept : .interrupted
    let back = try #require(await next.row(.named("a")))
    #expect(back.state == seen && back.snapshot == [1] && back.loaded == 3)
    let interrupted = await next.page(limit: 9, state: .interrupted).rows.map(\.id.description)
    #expect(interrupted == (kept.isSettled ? ["b"] : ["a", "b"]))
    #expect(await next.page(limit: 9, state: .queued).rows == [])
    // Without a state it stays what it was; with one it is this process's.
    next.write(.update(.named("b"), loaded(1)))
    #expect(await next.row(.named("b"))?.state == .interrupted)
    var resumed = JournalUpdate()
    resumed.state = .queued
    next.write(.update(.named("b"), resumed))
    #expect(await next.page(limit: 9, state: .queued).rows.map(\.id.description) == ["b"])
    await next.close()
  }

  @Test func `pages have all rows in the order of their numbers, equal numbers by id`() async {
    let rows = (0..<25).map { row("id \($0 * 7 % 25)", Int64($0 / 2)) }
    await journal.write(rows.map { .add($0) })
    var seen: [String] = []
    var cursor = JournalCursor.start
    var pages = 0
    while true {
      let page = await journal.page(after: cursor, limit: 4)
      seen += page.rows.map { "\($0.number) \($0.id)" }
      pages += 1
      guard let next = page.next else { break }
      cursor = next
    }
    let expected = rows.sorted { ($0.number, $0.id.description) < ($1.number, $1.id.description) }
    #expect(seen == expected.map { "\($0.number) \($0.id)" })
    #expect(pages == 7)
    #expect(await journal.page(limit: 25).next == nil)
    await journal.close()
  }
}
