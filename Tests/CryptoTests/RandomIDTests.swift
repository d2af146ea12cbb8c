import Testing

@testable import Crypto

@Suite struct RandomIDTests {
  @Test("ids are 24 lower-case letters and digits and do not repeat")
  func ids() {
    let ids = (0..<2000).map { _ in RandomID.make() }
    #expect(Set(ids).count == ids.count)
    for id in ids {
      #expect(id.utf8.count == 24)
      #expect(id.allSatisfy { $0.isASCII && ($0.isNumber || $0.isLowercase) })
    }
  }

  @Test("random bytes have the length asked for and reach every value")
  func bytes() {
    #expect(RandomBytes.make(0).isEmpty)
    #expect(Set(RandomBytes.make(16_384)).count == 256)
  }

  @Test("hexadecimal has two lower-case digits per byte")
  func hex() {
    #expect(Hex.encode([0, 1, 0x9A, 0xFF]) == "00019aff")
    #expect(Hex.encode([]) == "")
  }
}
