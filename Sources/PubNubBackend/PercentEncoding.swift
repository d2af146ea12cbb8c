/// Percent-encoding as PubNub compares it: UTF-8 bytes, upper-case hexadecimal, a space is `%20`.
enum PercentEncoding {
  /// A segment of a path: only what RFC 3986 calls unreserved stays.
  static func segment(_ text: String) -> String { encode(text, keepsTilde: true) }

  /// A name or value of a query, which signatures are made over: `~` goes too.
  static func value(_ text: String) -> String { encode(text, keepsTilde: false) }

  private static func encode(_ text: String, keepsTilde: Bool) -> String {
    var output: [UInt8] = []
    output.reserveCapacity(text.utf8.count + 16)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: "."):
        output.append(byte)
      case UInt8(ascii: "~") where keepsTilde:
        output.append(byte)
      default:
        output.append(UInt8(ascii: "%"))
        output.append(digits[Int(byte >> 4)])
        output.append(digits[Int(byte & 15)])
      }
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// The text that was encoded; nil where it is not UTF-8 or an escape is cut.
  static func decode(_ text: some StringProtocol) -> String? {
    var output: [UInt8] = []
    var bytes = text.utf8.makeIterator()
    while let byte = bytes.next() {
      guard byte == UInt8(ascii: "%") else {
        output.append(byte)
        continue
      }
      guard let high = bytes.next().flatMap(value(ofDigit:)),
        let low = bytes.next().flatMap(value(ofDigit:))
      else { return nil }
      output.append(high << 4 | low)
    }
    return String(validating: output, as: UTF8.self)
  }

  private static func value(ofDigit digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  private static let digits = Array("0123456789ABCDEF".utf8)
}
