import CLinux
import Foundation
import Glibc
import SQLite
import Testing
import TransferModel

@testable import Journal

@Suite struct TroubleTests {
  private let state: State

  init() throws { state = try State() }

  /// A journal of 300 rows that was closed; the path of its file.
  private func written(payloadBytes: Int = 0) async throws -> String {
    let journal = state.journal()
    let changes = (0..<300).map { number in
      var row = row("\(number)", Int64(number))
      row.payload = [UInt8](repeating: 7, count: payloadBytes)
      return JournalChange.add(row)
    }
    await journal.write(changes)
    await journal.close()
    return "\(state.folder())/\(try #require(state.names(ending: ".db").first))"
  }

  /// How a file is damaged.
  enum Damage: CaseIterable {
    case header, middle, cut, cutInHeader, noDatabase, empty, foreign

    func apply(to path: String) throws {
      var bytes = try content(path)
      switch self {
      case .header: for index in 0..<16 { bytes[index] ^= 0xff }
      case .middle: for index in 4096 * 3..<4096 * 6 { bytes[index] ^= 0x55 }
      case .cut: bytes.removeLast(bytes.count / 2)
      case .cutInHeader: bytes = bytes.prefix(50)
      case .noDatabase: bytes = Data("this is no database, however long it may be".utf8)
      case .empty:
        try Data([1]).write(to: URL(filePath: path + "-wal"))
        bytes = Data()
      case .foreign:
        _ = try Database(path: path).execute("PRAGMA user_version = 0")
        return
      }
      try bytes.write(to: URL(filePath: path))
    }
  }

  @Test(arguments: Damage.allCases)
  func `a damaged file is moved aside, said once, and work goes on`(damage: Damage) async throws {
    let path = try await written()
    try damage.apply(to: path)
    let bytes = try content(path)
    let journal = state.journal()
    #expect(await journal.write([.add(row("new"))]))
    #expect(await journal.page(limit: 9).rows.map(\.id.description) == ["new"])
    await journal.close()
    #expect(state.told.map(\.code) == [.unknown])
    let message = try #require(state.told.first?.message)
    #expect(message.contains(path) && message.contains("damaged"))
    let aside = try #require(state.names().first { $0.contains(".db.damaged-") })
    #expect(message.contains(aside))
    #expect(try content("\(state.folder())/\(aside)") == bytes)

    let next = state.journal()
    #expect(await next.page(limit: 9).rows.map(\.id.description) == ["new"])
    await next.close()
    #expect(state.told.count == 1)
  }

  @Test func `a file that is damaged while in use is replaced`() async throws {
    // More than the connection's cache holds, so that it has to look again.
    _ = try await written(payloadBytes: 4096)
    let journal = state.journal()
    #expect(await journal.page(limit: 1).rows.count == 1)
    let path = "\(state.folder())/\(try #require(state.names(ending: ".db").first))"
    let file = clinux_open(path, O_WRONLY, 0)
    defer { close(file) }
    let size = Int(lseek(file, 0, SEEK_END))
    let noise = [UInt8](repeating: 0xa5, count: size - 4096)
    #expect(pwrite(file, noise, noise.count, 4096) == noise.count)
    for number in 0..<300 { journal.write(.update(.named("\(number)"), loaded(1))) }
    await journal.write([.add(row("new"))])
    #expect(await journal.page(limit: 999).rows.map(\.id.description) == ["new"])
    #expect(await journal.write([.add(row("newer", 2))]))
    #expect(state.told.map(\.code) == [.unknown])
    await journal.close()
    #expect(state.names(ending: ".db").count == 1)
    let next = state.journal()
    #expect(await next.page(limit: 9).rows.map(\.id.description) == ["new", "newer"])
    await next.close()
    #expect(state.told.count == 1)
  }

  @Test func `a file of a later version is left alone, and said once`() async throws {
    let path = try await written()
    try Database(path: path).execute("PRAGMA journal_mode = DELETE; PRAGMA user_version = 2")
    let bytes = try content(path)
    let journal = state.journal()
    #expect(await journal.write([.add(row("new"))]))
    // It is listed there, so this looks at the file again.
    #expect(await journal.find(.named("5"), patience: .zero) == .heldByAnother)
    #expect(await journal.page(limit: 9).rows.map(\.id.description) == ["new"])
    await journal.close()
    #expect(state.told.map(\.code) == [.unsupported])
    #expect(state.told.first?.message.contains("version 2") == true)
    #expect(try content(path) == bytes)
  }

  @Test func `where no folder can be made, calls succeed and one sentence says why`() async throws {
    try Data().write(to: URL(filePath: "\(state.path)/journal"))
    let journal = state.journal()
    for number in 0..<3 {
      journal.write(.add(row("\(number)")))
      #expect(await journal.write([.add(row("a"))]) == false)
    }
    #expect(await journal.page(limit: 9) == JournalPage())
    #expect(await journal.find(.named("a"), patience: .seconds(60)) == .unknown)
    let error = await #expect(throws: TransferError.self) { _ = try await journal.makeSpool() }
    #expect(error?.message.contains("/journal") == true)
    #expect(state.told.count == 1)
    #expect(state.told.first?.message.contains("Transfers go on") == true)
    // As soon as it can be, it is.
    unlink("\(state.path)/journal")
    #expect(await journal.write([.add(row("b"))]))
    #expect(await journal.page(limit: 9).rows.map(\.id.description) == ["b"])
    await journal.close()
    #expect(state.told.count == 1)
  }

  @Test func `a state folder that is removed is made again`() async throws {
    let journal = state.journal()
    await journal.write([.add(row("a"))])
    try FileManager.default.removeItem(atPath: "\(state.path)/journal")
    #expect(await journal.write([.add(row("b"))]))
    await journal.close()
    let next = state.journal()
    #expect(await next.page(limit: 9).rows.map(\.id.description) == ["b"])
    await next.close()
  }

  @Test(.enabled(if: State.canMount, "needs to mount"))
  func `a read-only state folder is said once, and its rows are not seen`() async throws {
    #expect(mount("none", state.path, "tmpfs", 0, "size=1m") == 0)
    defer { umount2(state.path, Int32(MNT_DETACH)) }
    _ = try await written()
    #expect(mount("none", state.path, "tmpfs", State.remount | State.readOnly, "size=1m") == 0)
    let journal = state.journal()
    #expect(await journal.write([.add(row("a"))]) == false)
    #expect(await journal.write([.add(row("b"))]) == false)
    #expect(state.told.map(\.code) == [.fileAccessDenied])
    await journal.close()
  }

  @Test(.enabled(if: State.canMount, "needs to mount"))
  func `a full disk is said once, loses nothing that was kept, and is tried again`() async throws {
    #expect(mount("none", state.path, "tmpfs", 0, "size=256k") == 0)
    defer { umount2(state.path, Int32(MNT_DETACH)) }
    let journal = state.journal()
    var kept: [String] = []
    var large = row("large")
    large.payload = [UInt8](repeating: 7, count: 3000)
    for number in 0..<200 {
      large.id = .named("\(number)")
      large.number = Int64(number)
      if await journal.write([.add(large)]) { kept.append("\(number)") }
    }
    #expect(kept.count > 10 && kept.count < 100)
    #expect(state.told.map(\.code) == [.diskFull])
    #expect(await journal.page(limit: 999).rows.map(\.id.description) == kept)
    // Without room even to begin, a process that starts now goes on all the same.
    let other = state.journal("other")
    #expect(await other.write([.add(large)]) == false)
    #expect(state.told.count == 2)
    await other.close()

    #expect(mount("none", state.path, "tmpfs", State.remount, "size=4m") == 0)
    #expect(await journal.write([.add(row("after", 999))]))
    await journal.close()
    let next = state.journal()
    #expect(await next.page(limit: 999).rows.map(\.id.description) == kept + ["after"])
    await next.close()
    #expect(state.told.count == 2)
  }
}

/// All bytes of a file.
///
/// Foundation's `Data(contentsOf:)` leaks where the file is empty.
private func content(_ path: String) throws -> Data {
  let file = try #require(FileHandle(forReadingAtPath: path))
  defer { file.closeFile() }
  return try file.readToEnd() ?? Data()
}
