internal import JSON

/// A message as it may be shown: without secrets, signatures and content.
enum Redaction {
  /// The message's text with every secret replaced.
  ///
  /// Values of members whose names speak of keys, secrets, tokens, passwords, authorization or
  /// ciphers (and proxies, whose URLs may hold one) become `"***"`, at any depth, as do queries and passwords of URLs in any string;
  /// `data` and `text` over 64 bytes become `"<N bytes>"`. What is no JSON is not shown at all,
  /// since nobody can say where in it a secret is.
  static func text(of message: [UInt8]) -> String {
    guard let node = try? JSONNode(parsing: message) else {
      // The reply beside it tells what is wrong and at which byte.
      return "<\(message.count) bytes that are no JSON>"
    }
    var writer = JSONWriter()
    write(node, to: &writer)
    return String(decoding: writer.take(), as: UTF8.self)
  }

  private static let secretWords = [
    "key", "secret", "token", "password", "authorization", "cipher", "proxy",
  ]
  /// Names that contain such a word and are no secret.
  private static let plainNames: Set<String> = ["timetoken", "stateKey"]
  private static let contentNames: Set<String> = ["data", "text"]
  private static let shownContentBytes = 64

  private static func write(_ node: JSONNode, to writer: inout JSONWriter) {
    switch node.kind {
    case .object:
      writer.beginObject()
      node.forEachMember { key, value in
        write(key, value, to: &writer)
        return true
      }
      writer.endObject()
    case .array:
      writer.beginArray()
      node.forEachElement { element in
        write(element, to: &writer)
        return true
      }
      writer.endArray()
    case .string:
      let text = (try? node.string()) ?? ""  // Only its kind can be wrong.
      if let shown = withoutQueries(text) {
        writer.string(shown)
      } else {
        writer.raw(node.raw)
      }
    case .null, .bool, .number: writer.raw(node.raw)
    }
  }

  private static func write(_ key: JSONNode, _ value: JSONNode, to writer: inout JSONWriter) {
    let name = (try? key.string()) ?? ""  // Only its kind can be wrong.
    writer.key(named: name)
    if isSecret(name), !value.isNull {
      writer.string("***")
    } else if contentNames.contains(name), let text = try? value.string(),  // Others go on.
      text.utf8.count > shownContentBytes
    {
      writer.string("<\(text.utf8.count) bytes>")
    } else {
      write(value, to: &writer)
    }
  }

  private static func isSecret(_ name: String) -> Bool {
    guard !plainNames.contains(name) else { return false }
    let lower = name.lowercased()
    return secretWords.contains { word in lower.utf8.firstRange(of: word.utf8) != nil }
  }

  /// A text without the queries and passwords of the URLs in it; nil where there are none.
  private static func withoutQueries(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    let mark = Array("://".utf8)
    guard bytes.count > mark.count, bytes.firstRange(of: mark) != nil else { return nil }
    var shown: [UInt8] = []
    var rest = bytes[...]
    while let found = rest.firstRange(of: mark) {
      shown += rest[..<found.upperBound]
      let end = rest[found.upperBound...].firstIndex { isEnd($0) } ?? rest.endIndex
      appendAddress(rest[found.upperBound..<end], to: &shown)
      rest = rest[end...]
    }
    shown += rest
    return shown == bytes ? nil : String(decoding: shown, as: UTF8.self)
  }

  /// Whether a URL cannot go on with this byte.
  private static func isEnd(_ byte: UInt8) -> Bool {
    byte <= 0x20 || [UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">")].contains(byte)
  }

  /// Appends what follows `://` of one URL.
  private static func appendAddress(_ address: ArraySlice<UInt8>, to shown: inout [UInt8]) {
    var rest = address
    let slash = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
    if let at = rest[..<(slash ?? rest.endIndex)].lastIndex(of: UInt8(ascii: "@")) {
      shown += "***".utf8
      rest = rest[at...]
    }
    guard let query = rest.firstIndex(of: UInt8(ascii: "?")) else {
      shown += rest
      return
    }
    shown += rest[...query]
    shown += "***".utf8
    if let hash = rest[query...].firstIndex(of: UInt8(ascii: "#")) { shown += rest[hash...] }
  }
}
