import Glibc
import Testing
import TransferModel

@testable import LocalFiles

@Suite struct SweepTests {
  let folder: TemporaryFolder
  private let later = time(nil) + 60

  init() throws { folder = try TemporaryFolder() }

  @Test("parts of the dead go; those of the living and everything else stays")
  func sweeps() throws {
    let living = try PartFile.create(for: folder("living"), overwrite: false)
    for mode: mode_t in [0o600, 0o644, 0o640] {
      let dead = try PartFile.create(for: folder("dead"), overwrite: false)
      // Killed just before the rename, it has the mode of its target.
      #expect(fchmod(dead.number, mode) == 0)
      dead.keep()
    }
    let others = [
      ".x.part", ".x.012345678.part", ".x.0123456789.Part", "x.0123456789.part", "plain",
      ".x.01234_6789.part", ".x.0123456789.part2",
    ]
    for name in others { chmod(try folder.file(name), 0o600) }
    chmod(try folder.file(".program.0123456789.part"), 0o755)
    try folder.link(".link.0123456789.part", to: "plain")
    try folder.folder(".folder.0123456789.part")
    #expect(mkfifo(folder(".pipe.0123456789.part"), 0o600) == 0)
    let before = try folder.names()
    #expect(try PartFile.sweep(folder.path, before: later) == 3)
    #expect(try folder.names() == before.filter { !$0.hasPrefix(".dead.") })
    try living.publish(overwrite: false)
    #expect(try PartFile.sweep(folder.path, before: later) == 0)
  }

  @Test("what was written to of late stays, for somebody may go on with it")
  func age() throws {
    try PartFile.create(for: folder("a"), overwrite: false).keep()
    #expect(try PartFile.sweep(folder.path, before: time(nil) - 60) == 0)
    #expect(try PartFile.sweep(folder.path, before: later) == 1)
  }

  @Test("a folder that is missing holds no parts, and what is no folder is an error")
  func noFolder() throws {
    #expect(try PartFile.sweep(folder("missing"), before: later) == 0)
    try folder.file("file")
    let error = failure { () throws(TransferError) in
      _ = try PartFile.sweep(folder("file"), before: later)
    }
    #expect(error != nil)
  }

  @Test("files written while others sweep all arrive")
  func sweptWhileWritten() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<2 {
        group.addTask {
          for index in 0..<400 {
            let part = try PartFile.create(for: folder("\(writer)-\(index)"), overwrite: false)
            try part.write([1], at: 0)
            try part.publish(overwrite: false, durable: false)
          }
        }
      }
      group.addTask {
        // One caught between its creation and its lock may go; its writer then starts another.
        for _ in 0..<200 { _ = try PartFile.sweep(folder.path, before: later) }
      }
      try await group.waitForAll()
    }
    let expected = (0..<2).flatMap { writer in (0..<400).map { "\(writer)-\($0)" } }
    #expect(try folder.names() == expected.sorted())
    for name in expected { #expect(try folder.content(name) == [1]) }
  }
}
