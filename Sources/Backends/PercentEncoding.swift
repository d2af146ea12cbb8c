/// Percent-encoding with upper-case digits, of everything but RFC 3986's unreserved characters: as
/// servers compute it that check a signature, so that what is sent is what is signed.
package enum PercentEncoding {
  /// A key for a path: everything but `A-Za-z0-9-._~` and `/` becomes `%XX`; nothing is normalised.
  package static func path(_ text: String) -> String { encode(text, keeping: UInt8(ascii: "/")) }

  /// A segment of a path, or a name or value for a query: as for a path, and `/` too.
  package static func component(_ text: String) -> String { encode(text, keeping: nil) }

  /// A whole query: sorted, and a name without value gets its `=`.
  package static func query(_ parameters: [(name: String, value: String)]) -> String {
    parameters.map { (component($0.name), component($0.value)) }
      // By name first: `=` is not lower than all that a name can go on with.
      .sorted { $0 < $1 }
      .map { "\($0)=\($1)" }
      .joined(separator: "&")
  }

  /// What was encoded; nil where a `%` is not followed by two digits or the bytes are no UTF-8.
  package static func decode(_ text: String, plusIsSpace: Bool = false) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else {
          return nil
        }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The value of a hexadecimal digit in either case.
  package static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  /// Two upper-case digits.
  package static func hex(_ byte: UInt8) -> [UInt8] {
    [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func encode(_ text: String, keeping kept: UInt8?) -> String {
    if text.utf8.allSatisfy({ isUnreserved($0) || $0 == kept }) { return text }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count * 3)
    for byte in text.utf8 {
      if isUnreserved(byte) || byte == kept {
        bytes.append(byte)
      } else {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(contentsOf: hex(byte))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
