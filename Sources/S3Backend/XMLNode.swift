/// An element of the few small documents S3 sends: no namespaces, no attributes, no order of text
/// between children, since none of them means anything there.
struct XMLNode: Equatable {
  /// Without its namespace's prefix.
  var name: String
  /// All text directly inside, joined; of an element with children mostly white space.
  var text = ""
  /// In document order.
  var children: [XMLNode] = []

  /// The first child of a name.
  subscript(_ name: String) -> XMLNode? { children.first { $0.name == name } }

  /// The text of the first child of a name.
  func text(_ name: String) -> String? { self[name]?.text }

  /// The children of a name.
  func all(_ name: String) -> [XMLNode] { children.filter { $0.name == name } }

  /// The root of a document; nil for what is none, is cut off, or nests deeper than S3 does.
  static func parse(_ bytes: [UInt8]) -> XMLNode? {
    bytes.withUnsafeBufferPointer { bytes in
      var scanner = XMLScanner(bytes)
      return scanner.document()
    }
  }

  /// Text with what XML reserves replaced.
  static func escape(_ text: String) -> String {
    guard text.utf8.contains(where: { "&<>\"\r".utf8.contains($0) }) else { return text }
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "\r": escaped += "&#13;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

/// Reads a document once, from its start to its end.
///
/// A document type is refused: nothing S3 sends has one, and entities of its own are how small
/// documents become large ones.
private struct XMLScanner {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var index = 0

  private static let maxDepth = 16

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  mutating func document() -> XMLNode? {
    // A byte order mark, and the blanks that servers send while they are thinking.
    _ = skip("\u{FEFF}")
    guard skipMisc(), let root = element(depth: 0), skipMisc(), index == bytes.count else {
      return nil
    }
    return root
  }

  /// White space, comments and processing instructions.
  private mutating func skipMisc() -> Bool {
    while true {
      skipSpace()
      if skip("<?") {
        guard skipPast("?>") else { return false }
      } else if skip("<!--") {
        guard skipPast("-->") else { return false }
      } else {
        return true
      }
    }
  }

  private mutating func element(depth: Int) -> XMLNode? {
    guard depth < Self.maxDepth, skip("<"), let name = name(), let isEmpty = restOfTag() else {
      return nil
    }
    var node = XMLNode(name: name)
    if isEmpty { return node }
    var text: [UInt8] = []
    while index < bytes.count {
      if skip("</") {
        guard self.name() == name else { return nil }
        skipSpace()
        guard skip(">"), let string = String(validating: text, as: UTF8.self) else { return nil }
        node.text = string
        return node
      }
      if skip("<!--") {
        guard skipPast("-->") else { return nil }
      } else if skip("<?") {
        guard skipPast("?>") else { return nil }
      } else if skip("<![CDATA[") {
        let start = index
        guard skipPast("]]>") else { return nil }
        text.append(contentsOf: bytes[start..<index - 3])
      } else if bytes[index] == UInt8(ascii: "<") {
        guard let child = element(depth: depth + 1) else { return nil }
        node.children.append(child)
      } else if bytes[index] == UInt8(ascii: "&") {
        guard let scalar = entity() else { return nil }
        text.append(contentsOf: Array(String(scalar).utf8))
      } else {
        text.append(bytes[index])
        index += 1
      }
    }
    return nil
  }

  /// Up to the end of a start tag; whether the element ends with it.
  private mutating func restOfTag() -> Bool? {
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      switch byte {
      case UInt8(ascii: ">"): return false
      case UInt8(ascii: "/"): return skip(">") ? true : nil
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        guard let end = bytes[index...].firstIndex(of: byte) else { return nil }
        index = end + 1
      case UInt8(ascii: "<"): return nil
      default: break
      }
    }
    return nil
  }

  /// A name without its prefix.
  private mutating func name() -> String? {
    var start = index
    while index < bytes.count, Self.isNameByte(bytes[index]) {
      if bytes[index] == UInt8(ascii: ":") { start = index + 1 }
      index += 1
    }
    guard index > start else { return nil }
    return String(validating: bytes[start..<index], as: UTF8.self)
  }

  private mutating func entity() -> Unicode.Scalar? {
    // The longest is `&#x10FFFF;`; leading zeros are as far as one goes.
    let window = bytes[index...].prefix(16)
    guard let end = window.firstIndex(of: UInt8(ascii: ";")) else { return nil }
    let name = String(decoding: bytes[(index + 1)..<end], as: UTF8.self)
    index = end + 1
    switch name {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    default: break
    }
    guard name.hasPrefix("#") else { return nil }
    let number =
      name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
    return number.flatMap(Unicode.Scalar.init)
  }

  private mutating func skipSpace() {
    while index < bytes.count, " \t\r\n".utf8.contains(bytes[index]) { index += 1 }
  }

  private mutating func skip(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard bytes.count - index >= count else { return false }
    for offset in 0..<count where bytes[index + offset] != text.utf8Start[offset] { return false }
    index += count
    return true
  }

  /// Moves behind the next place where a text stands.
  private mutating func skipPast(_ text: StaticString) -> Bool {
    while index < bytes.count {
      if skip(text) { return true }
      index += 1
    }
    return false
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: ":"), 0x80...0xFF:
      true
    default: false
    }
  }
}
