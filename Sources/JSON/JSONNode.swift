/// One value inside a validated JSON text: a view that shares the text's bytes.
package struct JSONNode: Sendable {
  /// What kind of value a node is.
  package enum Kind: Sendable {
    case null, bool, number, string, array, object
  }

  /// The whole validated text.
  let buffer: [UInt8]
  /// Where the value starts that pointers count from.
  let root: Int
  /// The half-open range of this value in the buffer.
  let range: Range<Int>

  /// Validates a text and makes the node of its one value.
  /// - Parameters:
  ///   - bytes: one JSON value in UTF-8.
  ///   - maxDepth: how many arrays and objects may be open at once.
  /// - Throws: a ``JSONError`` that names the byte where the text is wrong.
  package init(
    parsing bytes: [UInt8],
    maxDepth: Int = JSONScanner.defaultMaxDepth
  ) throws(JSONError) {
    let range = try JSONScanner.scan(bytes, maxDepth: maxDepth)
    self.init(buffer: bytes, root: range.lowerBound, range: range)
  }

  /// Makes the node of a value that was validated before.
  package init(_ raw: RawJSON) {
    self.init(buffer: raw.bytes, root: 0, range: 0..<raw.bytes.count)
  }

  init(buffer: [UInt8], root: Int, range: Range<Int>) {
    self.buffer = buffer
    self.root = root
    self.range = range
  }

  /// What kind of value this is.
  package var kind: Kind {
    switch buffer[range.lowerBound] {
    case UInt8(ascii: "{"): .object
    case UInt8(ascii: "["): .array
    case UInt8(ascii: "\""): .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
    case UInt8(ascii: "n"): .null
    default: .number
    }
  }

  /// Whether this is the literal `null`.
  package var isNull: Bool { buffer[range.lowerBound] == UInt8(ascii: "n") }

  /// A copy of the value's own bytes.
  package var raw: RawJSON { RawJSON(validated: Array(buffer[range])) }

  /// The value's own bytes, without a copy.
  package var bytes: ArraySlice<UInt8> { buffer[range] }

  /// The same value with pointers counted from itself: `params` rather than the whole request.
  package var asRoot: JSONNode { JSONNode(buffer: buffer, root: range.lowerBound, range: range) }

  /// The RFC 6901 pointer from the root to this value; found by walking, for errors only.
  package var pointer: String { Self.pointer(in: buffer, from: root, to: range.lowerBound) }

  /// An error about this value.
  package func error(_ message: String) -> JSONError {
    JSONError(about: self, message: message)
  }

  func child(_ range: Range<Int>) -> JSONNode {
    JSONNode(buffer: buffer, root: root, range: range)
  }
}

// MARK: - Scalars

extension JSONNode {
  /// The text of a string, its escapes undone.
  package func string() throws(JSONError) -> String {
    guard kind == .string else { throw error("must be a string") }
    return text
  }

  /// Whether this is a string equal to `other`, byte for byte, its escapes undone.
  package func isString(_ other: String) -> Bool {
    guard kind == .string else { return false }
    let content = (range.lowerBound + 1)..<(range.upperBound - 1)
    // A text of another length can only be equal when it is longer and holds escapes.
    guard content.count == other.utf8.count else {
      return content.count > other.utf8.count && buffer[content].contains(0x5C)
        && text.utf8.elementsEqual(other.utf8)
    }
    var other = other
    return other.withUTF8 { other in
      buffer.withUnsafeBufferPointer { bytes in
        var index = 0
        // A backslash begins an escape, which is longer than what it stands for.
        while index < other.count, bytes[content.lowerBound + index] == other[index],
          other[index] != 0x5C
        {
          index += 1
        }
        return index == other.count
      }
    }
  }

  /// The value of `true` or `false`.
  package func bool() throws(JSONError) -> Bool {
    guard kind == .bool else { throw error("must be true or false") }
    return buffer[range.lowerBound] == UInt8(ascii: "t")
  }

  /// An integral number: `1`, `1.0` and `1e3` are, `1.5` is not.
  /// - Throws: a ``JSONError`` for other kinds, fractions, and values outside of Int64.
  package func int() throws(JSONError) -> Int64 {
    guard kind == .number, let value = JSONNumber.integer(bytes) else {
      throw error("must be an integer of at most 64 bits")
    }
    return value
  }

  /// A number as the nearest double.
  /// - Throws: a ``JSONError`` for other kinds and values too large for a double.
  package func double() throws(JSONError) -> Double {
    guard kind == .number, let value = Double(String(decoding: bytes, as: UTF8.self)),
      value.isFinite
    else { throw error("must be a number") }
    return value
  }

  /// The unescaped content; only for strings.
  var text: String {
    let content = (range.lowerBound + 1)..<(range.upperBound - 1)
    return buffer.withUnsafeBufferPointer { bytes in
      let slice = bytes[content]
      return slice.contains(0x5C)
        ? JSONText.unescape(slice)
        : String(decoding: UnsafeBufferPointer(rebasing: slice), as: UTF8.self)
    }
  }
}

// MARK: - Arrays and objects

extension JSONNode {
  /// The elements of an array, in order.
  package func elements() throws(JSONError) -> [JSONNode] {
    guard kind == .array else { throw error("must be an array") }
    var nodes: [JSONNode] = []
    forEachElement {
      nodes.append($0)
      return true
    }
    return nodes
  }

  /// The members of an object with unescaped keys, in the order of the text.
  /// - Throws: a ``JSONError`` for other kinds and for a key that occurs twice.
  package func members() throws(JSONError) -> [(key: String, value: JSONNode)] {
    guard kind == .object else { throw error("must be an object") }
    var members: [(key: String, value: JSONNode)] = []
    var seen: Set<[UInt8]> = []
    var twice: JSONNode?
    forEachMember { key, value in
      let name = key.text
      guard seen.insert(Array(name.utf8)).inserted else {
        twice = value
        return false
      }
      members.append((name, value))
      return true
    }
    if let twice { throw twice.error("is given twice") }
    return members
  }

  /// Calls `body` with each element of an array until it returns false; other kinds have none.
  package func forEachElement(_ body: (JSONNode) -> Bool) {
    guard kind == .array else { return }
    var index = step(after: range.lowerBound + 1)
    while buffer[index] != UInt8(ascii: "]") {
      let end = valueEnd(from: index)
      guard body(child(index..<end)) else { return }
      index = step(after: end)
    }
  }

  /// Calls `body` with each key and value of an object until it returns false.
  ///
  /// Keys are string nodes; one may occur twice. Other kinds have no members.
  package func forEachMember(_ body: (_ key: JSONNode, _ value: JSONNode) -> Bool) {
    guard kind == .object else { return }
    var index = step(after: range.lowerBound + 1)
    while buffer[index] != UInt8(ascii: "}") {
      let keyEnd = valueEnd(from: index)
      let valueStart = step(after: keyEnd)
      let end = valueEnd(from: valueStart)
      guard body(child(index..<keyEnd), child(valueStart..<end)) else { return }
      index = step(after: end)
    }
  }

  private func valueEnd(from index: Int) -> Int {
    buffer.withUnsafeBufferPointer { JSONText.valueEnd($0, from: index) }
  }

  /// The next key, value or closing bracket at or after `index`.
  private func step(after index: Int) -> Int {
    buffer.withUnsafeBufferPointer { bytes in
      let next = JSONText.skipWhiteSpace(bytes, from: index)
      guard bytes[next] == UInt8(ascii: ",") || bytes[next] == UInt8(ascii: ":") else {
        return next
      }
      return JSONText.skipWhiteSpace(bytes, from: next + 1)
    }
  }
}

// MARK: - Pointers

extension JSONNode {
  /// The pointer of a member of this object, whether or not it exists.
  package func pointer(to key: String) -> String { pointer + "/" + Self.escaped(key) }

  private static func escaped(_ key: String) -> String {
    clipped(key).reduce(into: "") { result, character in
      switch character {
      case "~": result += "~0"
      case "/": result += "~1"
      default: result.append(character)
      }
    }
  }

  private static func pointer(in buffer: [UInt8], from root: Int, to target: Int) -> String {
    let end = buffer.withUnsafeBufferPointer { JSONText.valueEnd($0, from: root) }
    var node = JSONNode(buffer: buffer, root: root, range: root..<end)
    var path = ""
    while node.range.lowerBound != target {
      var found: (step: String, node: JSONNode)?
      var index = 0
      node.forEachElement { element in
        if element.range.contains(target) { found = (String(index), element) }
        index += 1
        return found == nil
      }
      node.forEachMember { key, value in
        if value.range.contains(target) { found = (escaped(key.text), value) }
        return found == nil
      }
      guard let next = found else { break }
      path += "/" + next.step
      node = next.node
    }
    return path
  }
}
