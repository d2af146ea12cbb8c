import Foundation
import Journal
import Testing
import TransferModel

@Suite struct SpoolTests {
  private let state: State

  init() throws { state = try State() }

  @Test func `the next process finds what a row names and removes the rest`() async throws {
    let living = state.journal("living")
    let named = try await living.makeSpool()
    try named.write([1, 2, 3], at: 0)
    try named.write([9], at: 2)
    let unnamed = try await living.makeSpool()
    #expect(named.path != unnamed.path)
    let settled = try await living.makeSpool()
    var kept = row("kept")
    kept.spool = named.path
    var done = row("done", 2)
    done.spool = settled.path
    await living.write([.add(kept), .add(done)])
    var update = JournalUpdate.settled(.succeeded, snapshot: [])
    update.spool = .some(nil)
    await living.write([.update(done.id, update)])
    try state.kill("living", into: "dead")

    // The living one's stay, also when another process of its scope starts.
    let other = state.journal("living")
    #expect(await other.page(limit: 1).rows == [])
    #expect(FileManager.default.fileExists(atPath: unnamed.path))

    let journal = state.journal("dead")
    #expect(await journal.row(kept.id)?.spool == named.path)
    let folder = "dead/\(try #require(state.names("dead", ending: ".spool").first))"
    let name = URL(filePath: named.path).lastPathComponent
    #expect(state.names(folder) == [name])
    let spool = "\(state.folder(folder))/\(name)"
    #expect(FileManager.default.contents(atPath: spool).map { Array($0) } == [1, 2, 9])
    SpoolFile.remove(spool)
    await journal.write([.forget(kept.id), .forget(done.id)])
    for journal in [journal, living, other] { await journal.close() }
    #expect(state.names("dead") == [])
    #expect(state.told == [])
  }

  @Test func `a closed journal makes no spool`() async throws {
    let journal = state.journal()
    await journal.close()
    let error = await #expect(throws: TransferError.self) { _ = try await journal.makeSpool() }
    #expect(error?.code == .shuttingDown)
  }
}
