/// Base 64 of RFC 4648 section 4, strict: with padding, without line breaks, and only the one
/// spelling of each value.
package enum Base64 {
  /// The text of some bytes.
  package static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
    let length = (bytes.count + 2) / 3 * 4
    return String(unsafeUninitializedCapacity: length) { output in
      encode(bytes, into: output)
      return length
    }
  }

  /// The text of some bytes.
  package static func encode(_ bytes: [UInt8]) -> String {
    bytes.withUnsafeBytes { encode($0) }
  }

  /// The bytes of a text; nil where it is not strict base 64.
  package static func decode(_ text: String) -> [UInt8]? {
    var text = text
    return text.withUTF8 { decode($0) }
  }

  /// The bytes of a text in ASCII; nil where it is not strict base 64.
  package static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    guard text.count.isMultiple(of: 4) else { return nil }
    guard let last = text.last else { return [] }
    let pad = UInt8(ascii: "=")
    let padding = last != pad ? 0 : text[text.count - 2] != pad ? 1 : 2
    var isStrict = true
    let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { output, count in
      isStrict = decode(text, padding: padding, into: output)
      count = text.count / 4 * 3 - padding
    }
    return isStrict ? bytes : nil
  }

  private static func encode(
    _ bytes: UnsafeRawBufferPointer,
    into output: UnsafeMutableBufferPointer<UInt8>
  ) {
    pairs.withUnsafeBufferPointer { pairs in
      let target = UnsafeMutableRawBufferPointer(output)
      let whole = bytes.count / 3
      for group in 0..<whole {
        let bits =
          Int(bytes[group * 3]) << 16 | Int(bytes[group * 3 + 1]) << 8 | Int(bytes[group * 3 + 2])
        let four = UInt32(pairs[bits >> 12]) | UInt32(pairs[bits & 4095]) << 16
        target.storeBytes(of: four.littleEndian, toByteOffset: group * 4, as: UInt32.self)
      }
      let left = bytes.count - whole * 3
      guard left > 0 else { return }
      let bits =
        Int(bytes[whole * 3]) << 16 | (left == 2 ? Int(bytes[whole * 3 + 1]) << 8 : 0)
      output[whole * 4] = alphabet[bits >> 18]
      output[whole * 4 + 1] = alphabet[bits >> 12 & 63]
      output[whole * 4 + 2] = left == 2 ? alphabet[bits >> 6 & 63] : UInt8(ascii: "=")
      output[whole * 4 + 3] = UInt8(ascii: "=")
    }
  }

  /// False where a character is not of the alphabet or a bit behind the last byte is set.
  private static func decode(
    _ text: UnsafeBufferPointer<UInt8>,
    padding: Int,
    into output: UnsafeMutableBufferPointer<UInt8>
  ) -> Bool {
    values.withUnsafeBufferPointer { values in
      let whole = (text.count - padding) / 4
      // One test at the end instead of one per character: an unknown one leaves a high bit set.
      var seen: UInt32 = 0
      for group in 0..<whole {
        let bits =
          values[Int(text[group * 4])] << 18 | values[Int(text[group * 4 + 1])] << 12
          | values[Int(text[group * 4 + 2])] << 6 | values[Int(text[group * 4 + 3])]
        seen |= bits
        output[group * 3] = UInt8(truncatingIfNeeded: bits >> 16)
        output[group * 3 + 1] = UInt8(truncatingIfNeeded: bits >> 8)
        output[group * 3 + 2] = UInt8(truncatingIfNeeded: bits)
      }
      guard padding > 0 else { return seen & unknown == 0 }
      let third = padding == 1 ? values[Int(text[whole * 4 + 2])] : 0
      let bits =
        values[Int(text[whole * 4])] << 18 | values[Int(text[whole * 4 + 1])] << 12 | third << 6
      output[whole * 3] = UInt8(truncatingIfNeeded: bits >> 16)
      if padding == 1 { output[whole * 3 + 1] = UInt8(truncatingIfNeeded: bits >> 8) }
      let unused: UInt32 = padding == 1 ? 0xFF : 0xFFFF
      return (seen | bits) & unknown == 0 && bits & unused == 0
    }
  }

  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
  )

  /// Two characters per twelve bits, the first in the low byte: half the look-ups of one per six.
  private static let pairs: [UInt16] = (0..<4096).map {
    UInt16(alphabet[$0 >> 6]) | UInt16(alphabet[$0 & 63]) << 8
  }

  /// Bits no value reaches however far it is shifted left, so one of them stays set.
  private static let unknown: UInt32 = 0xFF00_0000

  /// Six bits per character; all ones for what is not of the alphabet.
  private static let values: [UInt32] = {
    var values = [UInt32](repeating: .max, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt32(value) }
    return values
  }()
}
