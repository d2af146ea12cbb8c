internal import JSON

/// What can be read of an answer that carries what somebody's client sent and is no JSON: half a
/// surrogate pair, bytes that are no UTF-8, a thousand brackets.
///
/// PubNub hands such messages on as they came, among others that are sound.
enum Salvage {
  /// The name of a member that objects have from which another was left out.
  static let mark = ""

  /// The text without the members that cannot be read, looked for so many `levels` below the whole;
  /// nil for what is cut off or no object.
  static func node(_ text: [UInt8], levels: Int) -> JSONNode? {
    readable(text[...], levels, depth: JSONScanner.defaultMaxDepth)
      .flatMap { try? JSONNode(parsing: $0) }
  }

  /// A value, or what is left of it where it is an object or an array.
  private static func readable(
    _ text: ArraySlice<UInt8>,
    _ levels: Int,
    depth: Int
  ) -> [UInt8]? {
    let text = Array(text.drop { $0 <= UInt8(ascii: " ") })
    if isValid(text, depth) { return text }
    guard levels > 0, let open = text.first, let parts = parts(of: text) else { return nil }
    guard open == UInt8(ascii: "{") else {
      let elements = parts.compactMap { readable($0, levels - 1, depth: depth - 1) }
      return Array("[".utf8) + elements.joined(separator: ",".utf8) + Array("]".utf8)
    }
    var members: [[UInt8]] = []
    for place in stride(from: 0, to: parts.count - 1, by: 2) {
      if let name = readable(parts[place], 0, depth: 0), name.first == UInt8(ascii: "\""),
        let value = readable(parts[place + 1], levels - 1, depth: depth - 1)
      {
        members.append(name + Array(":".utf8) + value)
      }
    }
    if members.count < parts.count / 2 { members.append(Array("\"\(mark)\":true".utf8)) }
    return Array("{".utf8) + members.joined(separator: ",".utf8) + Array("}".utf8)
  }

  private static func isValid(_ text: [UInt8], _ depth: Int) -> Bool {
    do throws(JSONError) {
      _ = try JSONScanner.scan(text, maxDepth: depth)
      return true
    } catch {
      return false
    }
  }

  /// The elements of an array, or the names and values of an object, unseen; nil for what is
  /// neither, or does not end.
  private static func parts(of text: [UInt8]) -> [ArraySlice<UInt8>]? {
    var parts: [ArraySlice<UInt8>] = []
    var (start, depth) = (1, 0)
    var (isQuoted, isEscaped) = (false, false)
    for (place, byte) in text.enumerated() {
      switch byte {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\\") where isQuoted: isEscaped = true
      case UInt8(ascii: "\""): isQuoted.toggle()
      case _ where isQuoted: break
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        guard depth == 1 else { continue }
        parts.append(text[start..<place])
        start = place + 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        guard depth <= 0 else { continue }
        let rest = text[(place + 1)...]
        return rest.allSatisfy { $0 <= UInt8(ascii: " ") } ? parts + [text[start..<place]] : nil
      default: break
      }
      // Neither an object nor an array.
      guard depth > 0 else { return nil }
    }
    return nil
  }
}
