/// Lower-case hexadecimal.
package enum Hex {
  /// Two digits per byte.
  package static func encode(_ bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: bytes.count * 2) { output in
      for (index, byte) in bytes.enumerated() {
        output[index * 2] = digit(byte >> 4)
        output[index * 2 + 1] = digit(byte & 15)
      }
      return bytes.count * 2
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
