import Testing

@testable import Crypto

@Suite("CRC-32C")
struct CRC32CTests {
  /// The check value, RFC 3720 B.4, and nothing at all.
  @Test(
    "Published values",
    arguments: [
      (Array("123456789".utf8), 0xE306_9283), ([], 0),
      ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
      ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43), (Array(0...31), 0x46DD_794E),
      ((0...31).reversed(), 0x113F_DB5C),
    ] as [([UInt8], UInt32)]
  )
  func published(_ bytes: [UInt8], _ value: UInt32) {
    var crc = CRC32C()
    crc.update(bytes)
    #expect(crc.value == value)
    var software = CRC32C()
    bytes.withUnsafeBytes { software.updateInSoftware($0) }
    #expect(software.value == value)
  }

  @Test("Services carry it in base 64, the highest byte first")
  func base64() {
    var crc = CRC32C()
    crc.update(Array("123456789".utf8))
    #expect(crc.base64 == "4waSgw==")
  }

  @Test(
    "Every length, at every alignment and in any pieces, gives what the tables give",
    arguments: [0, 1, 7, 8, 9, 4095, 12_287, 12_288, 12_289, 24_576, 50_001]
  )
  func lengths(_ length: Int) {
    let bytes = (0..<length + 8).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
    for shift in [0, 1, 5] {
      bytes.withUnsafeBytes { all in
        let part = UnsafeRawBufferPointer(rebasing: all[shift..<shift + length])
        var software = CRC32C()
        software.updateInSoftware(part)
        var whole = CRC32C()
        whole.update(part)
        #expect(whole == software)
        var pieces = CRC32C()
        pieces.update(UnsafeRawBufferPointer(rebasing: part[..<(length / 3)]))
        pieces.update(UnsafeRawBufferPointer(rebasing: part[(length / 3)...]))
        #expect(pieces == software)
      }
    }
  }
}
