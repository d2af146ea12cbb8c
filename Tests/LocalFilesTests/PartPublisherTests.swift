import Glibc
import Testing
import TransferModel

@testable import LocalFiles

@Suite struct PartPublisherTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// What each of many parts, published at the same time, came to; nil where it is in place.
  private func publish(_ parts: [PartFile]) async -> [ErrorCode?] {
    let publisher = PartPublisher(on: globalConcurrentExecutor)
    return await withTaskGroup(of: (Int, ErrorCode?).self) { group in
      for (index, part) in parts.enumerated() {
        group.addTask {
          do throws(TransferError) {
            try await publisher.publish(part, overwrite: false, mode: 0o600) {}
            return (index, nil)
          } catch {
            return (index, error.code)
          }
        }
      }
      return await group.reduce(into: Array(repeating: nil, count: parts.count)) {
        $0[$1.0] = $1.1
      }
    }
  }

  @Test("many at once are all in place, of whatever kind")
  func many() async throws {
    let parts = try (0..<60).map { number in
      let target = folder("\(number)")
      let unnamed = number % 2 == 0 ? try PartFile.createUnnamed(for: target) : nil
      let part = try unnamed ?? PartFile.create(for: target, overwrite: false)
      try part.write(Array("content \(number)".utf8), at: 0)
      return part
    }
    let outcomes = await publish(parts)
    #expect(outcomes.allSatisfy { $0 == nil })
    #expect(try folder.names().sorted() == (0..<60).map { "\($0)" }.sorted())
    for number in 0..<60 {
      #expect(try folder.content("\(number)") == Array("content \(number)".utf8))
    }
  }

  @Test("one that cannot be put in place fails alone")
  func failsAlone() async throws {
    let parts = try (0..<20).map { try PartFile.create(for: folder("\($0)"), overwrite: false) }
    close(open(folder("7"), O_CREAT | O_WRONLY, 0o600))
    let outcomes = await publish(parts)
    #expect(outcomes.enumerated().filter { $1 != nil }.map(\.offset) == [7])
    #expect(outcomes[7] == .targetExists)
  }

  @Test("a part without a name is seen by nobody until it is published")
  func unnamed() throws {
    guard let part = try PartFile.createUnnamed(for: folder("a")) else { return }
    try part.write(noise(10_000), at: 0)
    #expect(try folder.names() == [])
    #expect(part.path.isEmpty)
    try part.publish(overwrite: false, mode: 0o600)
    #expect(try folder.names() == ["a"])
    #expect(try folder.content("a") == noise(10_000))
    #expect(mode(folder("a")) == 0o600)
  }

  @Test("a part without a name that is dropped, discarded or kept leaves nothing")
  func unnamedDropped() throws {
    _ = try PartFile.createUnnamed(for: folder("a"))
    try PartFile.createUnnamed(for: folder("a"))?.discard()
    try PartFile.createUnnamed(for: folder("a"))?.keep()
    #expect(try folder.names() == [])
  }

  @Test("a part without a name replaces nothing, whenever the other came")
  func unnamedReplacesNothing() throws {
    let part = try PartFile.createUnnamed(for: folder("a"))
    close(open(folder("a"), O_CREAT | O_WRONLY, 0o600))
    #expect(
      failure { () throws(TransferError) in
        _ = try PartFile.createUnnamed(for: folder("a"))
      }?.code == .targetExists
    )
    guard let part else { return }
    #expect(
      failure { () throws(TransferError) in try part.publish(overwrite: false) }?.code
        == .targetExists
    )
    #expect(try folder.content("a").isEmpty)
  }
}
