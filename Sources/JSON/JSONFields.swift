/// Reads one object's members by name and remembers which names were asked for.
///
/// Each reader mentions a name once; ``finish()`` then refuses every member that was never asked
/// for, so the code is the list of what is allowed. `null` means absent, except to
/// ``node(_:)`` and ``optionalNode(_:)``.
package struct JSONFields {
  /// The names asked for so far, in the order of asking.
  package private(set) var askedNames: [String] = []

  /// The object being read.
  package let object: JSONNode
  private var unread: [Member] = []

  private struct Member {
    let key: JSONNode
    let value: JSONNode
  }

  /// The most members one object may have: none has that many fields, and looking for doubles
  /// compares all pairs.
  private static let maxMembers = 256

  /// Starts to read an object.
  /// - Throws: a ``JSONError`` when the node is no object or has a key twice.
  package init(_ object: JSONNode) throws(JSONError) {
    guard object.kind == .object else { throw object.error("must be an object") }
    self.object = object
    var members: [Member] = []
    object.forEachMember { key, value in
      members.append(Member(key: key, value: value))
      return members.count <= Self.maxMembers
    }
    guard members.count <= Self.maxMembers else {
      throw object.error("has more than \(Self.maxMembers) members")
    }
    for (index, member) in members.enumerated() {
      let name = member.key.text
      if members[..<index].contains(where: { $0.key.isString(name) }) {
        throw JSONError(pointer: object.pointer(to: name), message: "is given twice")
      }
    }
    unread = members
  }

  /// Starts to read an object without members.
  package init() { object = Self.emptyObject }

  private static let emptyObject = JSONNode(RawJSON(validated: Array("{}".utf8)))

  /// Refuses members that were never asked for.
  /// - Throws: a ``JSONError`` at the first such member, with the nearest name and all known ones.
  package func finish() throws(JSONError) {
    guard let member = unread.first else { return }
    let name = member.key.text
    var message = "is not a parameter"
    if let near = NearestName.find(name, in: askedNames) { message += "; did you mean `\(near)`?" }
    message +=
      askedNames.isEmpty
      ? " (there are none)" : " (known: \(askedNames.joined(separator: ", ")))"
    throw JSONError(pointer: object.pointer(to: name), message: message)
  }

  /// An error about the member `name`, whether or not it was given.
  package func error(_ name: String, _ message: String) -> JSONError {
    JSONError(pointer: object.pointer(to: name), message: message)
  }

  // MARK: - Any value

  /// The member as it is, `null` too; nil when it is absent.
  package mutating func optionalNode(_ name: String) -> JSONNode? {
    askedNames.append(name)
    guard let index = unread.firstIndex(where: { $0.key.isString(name) }) else { return nil }
    return unread.remove(at: index).value
  }

  /// The member as it is, `null` too.
  /// - Throws: a ``JSONError`` when it is absent.
  package mutating func node(_ name: String) throws(JSONError) -> JSONNode {
    guard let node = optionalNode(name) else { throw missing(name) }
    return node
  }

  /// A copy of the member's text; nil when it is absent or `null`.
  package mutating func raw(_ name: String) -> RawJSON? { present(name)?.raw }

  private mutating func present(_ name: String) -> JSONNode? {
    optionalNode(name).flatMap { $0.isNull ? nil : $0 }
  }

  /// The error of a member that must be there, with the unread name that may be meant for it;
  /// `note` follows "is required".
  package func missing(_ name: String, _ note: String = "") -> JSONError {
    var message = "is required\(note)"
    if let near = NearestName.find(name, in: unread.map { $0.key.text }) {
      message += " (did you mean `\(name)`? found `\(clipped(near))`)"
    }
    return error(name, message)
  }

  // MARK: - Scalars

  /// A string without NUL characters, which no path, name or id may hold.
  package mutating func string(_ name: String) throws(JSONError) -> String {
    guard let value = try optionalString(name) else { throw missing(name) }
    return value
  }

  /// A string without NUL characters; nil when it is absent or `null`.
  package mutating func optionalString(_ name: String) throws(JSONError) -> String? {
    guard let node = present(name) else { return nil }
    let value = try node.string()
    guard !value.utf8.contains(0) else { throw node.error("must not hold the character NUL") }
    return value
  }

  /// An integer within `range`.
  package mutating func int(
    _ name: String,
    in range: ClosedRange<Int64>? = nil
  ) throws(JSONError) -> Int64 {
    guard let value = try optionalInt(name, in: range) else { throw missing(name) }
    return value
  }

  /// An integer within `range`; nil when it is absent or `null`.
  package mutating func optionalInt(
    _ name: String,
    in range: ClosedRange<Int64>? = nil
  ) throws(JSONError) -> Int64? {
    guard let node = present(name) else { return nil }
    guard let range else { return try node.int() }
    guard node.kind == .number, let value = JSONNumber.integer(node.bytes), range.contains(value)
    else {
      throw node.error("must be an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  /// `true` or `false`; the default when it is absent or `null`.
  package mutating func bool(
    _ name: String,
    default value: Bool
  ) throws(JSONError) -> Bool {
    try optionalBool(name) ?? value
  }

  /// `true` or `false`; nil when it is absent or `null`.
  package mutating func optionalBool(_ name: String) throws(JSONError) -> Bool? {
    try present(name)?.bool()
  }

  /// One of an enumeration's raw values; nil when it is absent or `null`.
  package mutating func optionalEnum<Value: RawRepresentable<String> & CaseIterable>(
    _ name: String,
    of type: Value.Type = Value.self
  ) throws(JSONError) -> Value? {
    guard let node = present(name) else { return nil }
    if node.kind == .string, let value = Value(rawValue: node.text) { return value }
    let names = Value.allCases.map(\.rawValue)
    var message = "must be one of \(names.joined(separator: ", "))"
    if node.kind == .string, let near = NearestName.find(node.text, in: names) {
      message += "; did you mean `\(near)`?"
    }
    throw node.error(message)
  }

  // MARK: - Arrays and objects

  /// An array of strings without NUL characters; nil when it is absent or `null`.
  package mutating func optionalStringArray(_ name: String) throws(JSONError) -> [String]? {
    guard let node = present(name) else { return nil }
    guard node.kind == .array else { throw node.error("must be an array of strings") }
    var values: [String] = []
    for element in try node.elements() {
      let value = try element.string()
      guard !value.utf8.contains(0) else {
        throw element.error("must not hold the character NUL")
      }
      values.append(value)
    }
    return values
  }

  /// The fields of a nested object, to be read and finished by the caller; nil when it is absent
  /// or `null`.
  package mutating func optionalFields(_ name: String) throws(JSONError) -> JSONFields? {
    guard let node = present(name) else { return nil }
    return try JSONFields(node)
  }

  /// Reads a nested object with `read` and finishes it; nil when it is absent or `null`.
  package mutating func optionalObject<Value>(
    _ name: String,
    _ read: (inout JSONFields) throws(JSONError) -> Value
  ) throws(JSONError) -> Value? {
    guard var fields = try optionalFields(name) else { return nil }
    let value = try read(&fields)
    try fields.finish()
    return value
  }
}
