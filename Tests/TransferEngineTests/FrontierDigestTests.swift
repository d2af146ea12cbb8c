import Crypto
import Dispatch
import Glibc
import LocalFiles
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct FrontierDigestTests {
  @Test("the digest of a file whose pieces come in any order is that of the file")
  func anyOrder() async throws {
    let folder = "/tmp/ferry-frontier-\(getpid())-\(RandomID.make())"
    try #require(mkdir(folder, 0o700) == 0)
    defer { rmdir(folder) }
    let part = try PartFile.create(for: folder + "/f", overwrite: false)
    defer { part.discard() }
    let piece = 1 << 20
    let content = (0..<9 * piece + 17).map {
      UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 11)
    }
    let expected = Digest(.sha256)
    expected.update(content)
    let first = ContentHasher()
    try part.write(Array(content[..<piece]), at: 0)
    first.update(Array(content[..<piece]))
    let following = FrontierDigest(
      of: part.number,
      owner: part,
      from: Int64(piece),
      first,
      on: BlockingPool(width: 2)
    )
    for index in (1...9).shuffled() {
      let range = index * piece..<min(content.count, (index + 1) * piece)
      try part.write(Array(content[range]), at: Int64(range.lowerBound))
      following.add(Int64(range.lowerBound)..<Int64(range.upperBound))
    }
    #expect(try await following.finish().sha256Hex == expected.hex)
  }

  /// More than one slice of the reader's.
  private static let piece = 5 << 20
  /// A pattern that no two pieces have at the same place.
  private static let content = {
    let pattern = (0...1 << 20).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
    var content: [UInt8] = []
    while content.count < 14 * piece { content += pattern }
    return Array(content[..<(14 * piece)])
  }()

  private static func range(_ index: Int) -> Range<Int64> {
    Int64(index * piece)..<Int64((index + 1) * piece)
  }

  private static func crc(_ index: Int) -> String {
    var crc = CRC32C()
    crc.update(Array(content[Int(range(index).lowerBound)..<Int(range(index).upperBound)]))
    return crc.base64
  }

  /// What is asked of the digest of a whole file.
  private func ofFile(
    on pool: BlockingPool = BlockingPool(width: 2),
    _ body: (FrontierDigest) async throws -> Void
  ) async throws {
    let folder = "/tmp/ferry-frontier-\(getpid())-\(RandomID.make())"
    try #require(mkdir(folder, 0o700) == 0)
    defer { rmdir(folder) }
    let part = try PartFile.create(for: folder + "/f", overwrite: false)
    defer { part.discard() }
    try part.write(Self.content, at: 0)
    let expected = Digest(.sha256)
    expected.update(Self.content)
    let following = FrontierDigest(
      of: part.number,
      owner: part,
      ContentHasher(),
      on: pool
    )
    try await body(following)
    following.read(upTo: Int64(Self.content.count))
    #expect(try await following.finish().sha256Hex == expected.hex)
  }

  @Test("parts that are sent at the same time have their checksums out of the same pass")
  func sumsOfParts() async throws {
    #expect(Set((0..<14).map(Self.crc)).count == 14)
    try await ofFile { following in
      for start in stride(from: 0, to: 12, by: 3) {
        let sums = try await withThrowingTaskGroup(of: (Int, String?).self) { group in
          for index in start..<start + 3 {
            group.addTask {
              (index, try await following.crc32c(of: Self.range(index))?.base64)
            }
          }
          return try await group.reduce(into: [Int: String?]()) { $0[$1.0] = $1.1 }
        }
        // The third is there last, and the two before it may come too late for that.
        #expect(sums[start + 2] == Self.crc(start + 2))
        for index in start..<start + 3 {
          #expect([nil, Self.crc(index)].contains(sums[index] ?? nil))
        }
      }
    }
  }

  @Test("a part that was passed, or is far ahead, is read apart")
  func sumsElsewhere() async throws {
    try await ofFile { following in
      let first = try await following.crc32c(of: Self.range(0))
      #expect(first?.base64 == Self.crc(0))
      let passed = try await following.crc32c(of: Self.range(0))
      #expect(passed == nil)
      let far = try await following.crc32c(of: Self.range(13))
      #expect(far == nil)
    }
  }

  @Test("who is cancelled hears so, and the digest is whole")
  func cancelled() async throws {
    // Its one thread is held, so that the part is not read before.
    let pool = BlockingPool(width: 1)
    let gate = DispatchSemaphore(value: 0)
    let holding = Task(executorPreference: pool) { Self.wait(for: gate) }
    try await ofFile(on: pool) { following in
      let task = Task { await sum(following) }
      task.cancel()
      #expect(await task.value.failure?.code == .cancelled)
      gate.signal()
      await holding.value
    }
  }

  @Test("a digest that nobody wants any more keeps nobody waiting")
  func unwanted() async throws {
    let pool = BlockingPool(width: 1)
    let gate = DispatchSemaphore(value: 0)
    let holding = Task(executorPreference: pool) { Self.wait(for: gate) }
    try await ofFile { _ in
      let file = try SourceFile.open("/proc/self/exe")
      let following = FrontierDigest(of: file.number, owner: file, ContentHasher(), on: pool)
      let task = Task { await sum(following, 0..<4096) }
      following.cancel()
      gate.signal()
      #expect(await task.value == .success(nil))
      await holding.value
    }
  }

  private func sum(
    _ following: FrontierDigest,
    _ part: Range<Int64> = range(0)
  ) async -> Result<CRC32C?, TransferError> {
    do throws(TransferError) {
      return .success(try await following.crc32c(of: part))
    } catch {
      return .failure(error)
    }
  }

  private static func wait(for gate: DispatchSemaphore) { gate.wait() }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
