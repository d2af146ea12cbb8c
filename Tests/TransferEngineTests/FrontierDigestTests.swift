import Crypto
import Glibc
import LocalFiles
import Testing

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
    let content = (0..<9 * piece + 17).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 11) }
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
}
