package import JSON

/// The id of a request, kept as the text it came in: `1` and `"1"` differ, no digit is lost.
///
/// Two spellings of one string (`"a"` and `"\u0061"`) count as two ids.
package struct RequestID: Sendable, Hashable {
  /// The JSON text; up to 15 bytes of it need no memory of their own.
  @ExactString package private(set) var text: String

  /// The longest id that is accepted, in bytes: each is kept until its reply is out.
  static let maxBytes = 1024

  /// Takes an integer of any size or a string; anything else is no id.
  init?(_ node: JSONNode) {
    guard node.bytes.count <= Self.maxBytes else { return nil }
    switch node.kind {
    case .string: break
    case .number:
      let isInteger = node.bytes.allSatisfy {
        $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0)
      }
      guard isInteger else { return nil }
    case .null, .bool, .array, .object: return nil
    }
    text = String(decoding: node.bytes, as: UTF8.self)
  }

  /// The id with this JSON text, which was one before.
  init(verbatim text: String) { self.text = text }
}
