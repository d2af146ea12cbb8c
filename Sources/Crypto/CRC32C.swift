import COpenSSL

/// A running CRC-32C (Castagnoli), by the processor's instruction where it has one.
package struct CRC32C: Sendable, Equatable {
  private var register = UInt32.max

  /// Starts with no bytes taken.
  package init() {}

  /// The checksum of the bytes taken so far.
  package var value: UInt32 { ~register }

  /// The checksum as services carry it: base 64 of the four bytes, the highest first.
  package var base64: String {
    Base64.encode((0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) })
  }

  /// Takes the next bytes.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    if Self.isInHardware {
      register = crc32c_hardware(register, start, bytes.count, Self.stride)
    } else {
      updateInSoftware(bytes)
    }
  }

  /// Takes the next bytes.
  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// What processors without the instruction do: eight bytes per step, by tables.
  mutating func updateInSoftware(_ bytes: UnsafeRawBufferPointer) {
    Self.tables.withUnsafeBufferPointer { tables in
      var register = register
      var index = 0
      while bytes.count - index >= 8 {
        let word = UInt64(
          littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        )
        let mixed = word ^ UInt64(register)
        register = 0
        for byte in 0..<8 {
          register ^= tables[(7 - byte) << 8 | Int(truncatingIfNeeded: mixed >> (8 * byte) & 255)]
        }
        index += 8
      }
      while index < bytes.count {
        register =
          register >> 8 ^ tables[Int(truncatingIfNeeded: register) & 255 ^ Int(bytes[index])]
        index += 1
      }
      self.register = register
    }
  }

  private static let isInHardware = crc32c_is_in_hardware() != 0

  /// x to the power of the bits in one of the instruction's streams.
  private static let stride: UInt32 = {
    var power = UInt32(1) << 30
    // Squared: 2, 4, 8 and so on.
    for _ in 0..<(CRC32C_STREAM * 8).trailingZeroBitCount { power = crc32c_multiply(power, power) }
    return power
  }()

  /// `tables[n << 8 | byte]`: what a byte leaves in the register n bytes later.
  private static let tables: [UInt32] = {
    var tables = [UInt32](repeating: 0, count: 8 << 8)
    for byte in 0..<256 {
      var value = UInt32(byte)
      for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
      tables[byte] = value
    }
    for index in 256..<tables.count {
      let before = tables[index - 256]
      tables[index] = before >> 8 ^ tables[Int(before & 255)]
    }
    return tables
  }()
}
