import Journal
import Testing
import TransferModel

@Suite struct RowTests {
  @Test func `a row comes back as it was added, and goes when forgotten`() async throws {
    let state = try State()
    let journal = state.journal()
    var full = row("full", 7)
    full.payload = [1, 2]
    full.spool = "/s/é"
    full.temporary = "/t"
    full.checkpoint = [3]
    full.progress = []
    full.snapshot = [4]
    full.total = 9
    #expect(await journal.write([.add(full), .add(row("bare", 8))], surviving: .power))
    let back = try #require(await journal.row(full.id))
    #expect(back.updatedMs > 1_700_000_000_000)
    #expect(back.origin == full.origin)
    #expect(back.payload == [1, 2] && back.spool == "/s/é" && back.temporary == "/t")
    #expect(back.checkpoint == [3] && back.progress == [] && back.snapshot == [4])
    #expect(back.total == 9 && back.number == 7 && back.state == .queued)
    let bare = try #require(await journal.row(.named("bare")))
    #expect(bare.payload == nil && bare.checkpoint == nil && bare.total == nil)
    #expect(await journal.lastNumber() == 8)
    journal.write(.forget(full.id))
    #expect(await journal.row(full.id) == nil)
    journal.write(.forget(bare.id))
    await journal.close()
    #expect(state.names() == [])
    #expect(state.told == [])
  }
}
