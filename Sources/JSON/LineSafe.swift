/// Appends text so that nothing in it ends a line: not for readers that split on U+2028, U+2029
/// or U+0085 either, nor for terminals that act on DEL.
enum LineSafe {
  /// Appends the content of a string with all escapes that JSON and lines need.
  static func appendEscaped(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout ByteBuffer) {
    append(text, to: &bytes) { byte, bytes in
      switch byte {
      case UInt8(ascii: "\""): bytes.append(contentsOf: "\\\"")
      case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\")
      case 0x08: bytes.append(contentsOf: "\\b")
      case 0x09: bytes.append(contentsOf: "\\t")
      case 0x0A: bytes.append(contentsOf: "\\n")
      case 0x0C: bytes.append(contentsOf: "\\f")
      case 0x0D: bytes.append(contentsOf: "\\r")
      default: appendUnicodeEscape(UInt16(byte), to: &bytes)
      }
    }
  }

  /// Appends valid JSON as it is, but without control characters, which can only be white space
  /// between tokens there, and with the breakers inside its strings escaped.
  static func appendRaw(_ json: UnsafeBufferPointer<UInt8>, to bytes: inout ByteBuffer) {
    append(json, to: &bytes) { byte, bytes in
      if byte >= 0x20 { bytes.append(byte) }
    }
  }

  /// Copies runs of plain bytes; ASCII that needs a decision goes to `special`.
  @inline(__always)
  private static func append(
    _ text: UnsafeBufferPointer<UInt8>,
    to bytes: inout ByteBuffer,
    special: (UInt8, inout ByteBuffer) -> Void
  ) {
    var copied = 0
    var index = JSONText.plainRunEnd(text, delAndFrom: 0)
    while index < text.count {
      let byte = text[index]
      let length: Int
      if byte >= 0x80 {
        guard let breaker = breaker(text, at: index) else {
          index = JSONText.plainRunEnd(text, delAndFrom: index + 1)
          continue
        }
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[copied..<index]))
        appendUnicodeEscape(breaker.unit, to: &bytes)
        length = breaker.length
      } else {
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[copied..<index]))
        if byte == 0x7F {
          appendUnicodeEscape(0x7F, to: &bytes)
        } else {
          special(byte, &bytes)
        }
        length = 1
      }
      copied = index + length
      index = JSONText.plainRunEnd(text, delAndFrom: copied)
    }
    bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[copied...]))
  }

  /// The line breaker beyond ASCII that starts at `index`, if one does.
  private static func breaker(
    _ text: UnsafeBufferPointer<UInt8>,
    at index: Int
  ) -> (unit: UInt16, length: Int)? {
    switch text[index] {
    case 0xC2 where text[index + 1] == 0x85: (0x0085, 2)
    case 0xE2 where text[index + 1] == 0x80 && text[index + 2] & 0xFE == 0xA8:
      (0x2000 | UInt16(text[index + 2] & 0x3F), 3)
    default: nil
    }
  }

  private static func appendUnicodeEscape(_ unit: UInt16, to bytes: inout ByteBuffer) {
    bytes.append(contentsOf: "\\u")
    for shift in [12, 8, 4, 0] {
      let digit = UInt8(unit >> UInt16(shift) & 0xF)
      bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
    }
  }
}
