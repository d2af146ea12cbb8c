import JSON

/// What one decoding knows and finds out.
final class Decoding {
  let environment: [String: String]
  /// Variables without value or default, in the order met.
  var missing: [MissingVariable] = []
  /// Every key asked for, by section; what the schema is compared with.
  private(set) var knownKeys: [String: [String]] = [:]

  init(environment: [String: String]) { self.environment = environment }

  fileprivate func note(_ key: String, in section: String) {
    if knownKeys[section]?.contains(key) != true { knownKeys[section, default: []].append(key) }
  }

  /// The text of a single value, expanded; nil where a variable is missing, which is noted.
  fileprivate func text(of node: ConfigNode) throws(ConfigurationError) -> String? {
    guard case .scalar(let text, _) = node.content else {
      throw ConfigurationError(node.location, "expected a single value, found \(node.kindName)")
    }
    guard !text.utf8.contains(0) else {
      throw ConfigurationError(node.location, "contains a NUL character, which no value may")
    }
    do throws(Expansion.Failure) {
      return try Expansion.expand(text, environment: environment)
    } catch {
      switch error {
      case .missing(let variable):
        missing.append(MissingVariable(name: variable, location: node.location))
        return nil
      case .malformed(let advice):
        throw ConfigurationError(node.location, "cannot expand this value: \(advice)")
      }
    }
  }
}

/// Reads the keys of one mapping by name, and refuses what was never asked for.
///
/// A key that is absent or null gives nil, and so does one whose variable is missing (noted in the
/// decoding), so that an option is one line: `value = try fields.bytes("maxFileSize") ?? value`.
struct ConfigFields {
  let location: ConfigurationLocation
  private let entries: [ConfigNode.Entry]
  private let section: String
  private let decoding: Decoding
  private var asked: [String] = []

  /// Opens a mapping, or null as an empty one; the section is the schema's name for its keys.
  init(
    _ node: ConfigNode,
    section: String,
    _ decoding: Decoding
  ) throws(ConfigurationError) {
    switch node.content {
    case .mapping(let entries): self.entries = entries
    case .scalar where node.isNull: entries = []
    case .scalar, .sequence:
      throw ConfigurationError(
        node.location,
        "expected a mapping of keys, found \(node.kindName)"
      )
    }
    location = node.location
    self.section = section
    self.decoding = decoding
  }

  /// A value as it was written, null included.
  mutating func node(_ key: String) -> ConfigNode? {
    asked.append(key)
    decoding.note(key, in: section)
    return entries.first { $0.key == key }?.value
  }

  /// The mapping below a key; empty where it is absent or null.
  mutating func fields(
    _ key: String,
    section: String
  ) throws(ConfigurationError) -> ConfigFields {
    let node = node(key) ?? ConfigNode(content: .mapping([]), location: location)
    return try ConfigFields(node, section: section, decoding)
  }

  /// A single value that is not empty.
  mutating func string(_ key: String) throws(ConfigurationError) -> String? {
    try scalar(key, quoting: false) { text in
      text.isEmpty ? nil : text
    } expected: {
      "a value that is not empty"
    }
  }

  /// An absolute path of a file or folder.
  mutating func path(_ key: String) throws(ConfigurationError) -> String? {
    try scalar(key, quoting: false) { text in
      text.hasPrefix("/") ? text : nil
    } expected: {
      "an absolute path (starting with / or ~/)"
    }
  }

  /// A single value that the closure makes of the expanded text, or refuses with nil.
  mutating func parsed<Value>(
    _ key: String,
    expected: String,
    isSecret: Bool = false,
    _ parse: (String) -> Value?
  ) throws(ConfigurationError) -> Value? {
    try scalar(key, quoting: !isSecret, parse) { expected }
  }

  /// One of the names of an enumeration.
  mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ key: String,
    of: Choice.Type
  ) throws(ConfigurationError) -> Choice? where Choice.RawValue == String {
    guard let node = node(key), !node.isNull else { return nil }
    guard let text = try decoding.text(of: node) else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    throw ConfigurationError(
      node.location,
      "\(key) \"\(shown(node.written))\" is not part of this version; it has: "
        + Choice.allCases.map(\.rawValue).joined(separator: ", ")
    )
  }

  /// A whole number within bounds.
  mutating func integer(
    _ key: String,
    in range: ClosedRange<Int64>
  ) throws(ConfigurationError) -> Int64? {
    try scalar(key) { text in
      Quantity.integer(text).flatMap { range.contains($0) ? $0 : nil }
    } expected: {
      range.upperBound == .max
        ? "a whole number from \(range.lowerBound)"
        : "a whole number from \(range.lowerBound) to \(range.upperBound)"
    }
  }

  /// `true` or `false`.
  mutating func boolean(_ key: String) throws(ConfigurationError) -> Bool? {
    try scalar(key) {
      Bool($0)
    } expected: {
      "true or false"
    }
  }

  /// A size in bytes, at least 1.
  mutating func bytes(_ key: String) throws(ConfigurationError) -> Int64? {
    try scalar(key) { text in
      Quantity.bytes(text).flatMap { $0 > 0 ? $0 : nil }
    } expected: {
      "a size above 0 such as 5 MiB (2^20) or 5 MB (10^6), in "
        + Quantity.sizes.map(\.key).joined(separator: ", ") + ", or null for no limit"
    }
  }

  /// A time in milliseconds within bounds, which the text names for people.
  mutating func milliseconds(
    _ key: String,
    in range: ClosedRange<Int64>,
    bounds: String
  ) throws(ConfigurationError) -> Int64? {
    try scalar(key) { text in
      Quantity.milliseconds(text).flatMap { range.contains($0) ? $0 : nil }
    } expected: {
      "a time from \(bounds) with its unit, such as 500ms, 30s, 15m or 2h"
    }
  }

  /// A list; the closure turns one expanded element into its value, or refuses it with nil.
  mutating func list(
    _ key: String,
    element: (String) -> String?,
    expected: String
  ) throws(ConfigurationError) -> [String]? {
    guard let node = node(key), !node.isNull else { return nil }
    guard case .sequence(let nodes) = node.content else {
      throw ConfigurationError(
        node.location,
        "\(key): expected a list such as [a, b], found \(node.kindName)"
      )
    }
    var list: [String] = []
    for node in nodes {
      guard let text = try decoding.text(of: node) else { continue }
      guard !node.isNull, let value = element(text) else {
        throw ConfigurationError(node.location, "\(key): expected \(expected)")
      }
      list.append(value)
    }
    return list
  }

  /// An option whose null means "none" rather than "as before".
  mutating func clearable<Value>(
    _ key: String,
    _ current: Value?,
    read: (inout ConfigFields, String) throws(ConfigurationError) -> Value?
  ) throws(ConfigurationError) -> Value? {
    if let node = node(key), node.isNull { return nil }
    return try read(&self, key) ?? current
  }

  /// The error of a key that must be there; a near miss among the others is what it talks of.
  func lacking(_ key: String, _ advice: String) -> ConfigurationError {
    let others = entries.filter { !asked.contains($0.key) }
    guard let meant = others.first(where: { NearestName.find($0.key, in: [key]) != nil }) else {
      return ConfigurationError(location, advice)
    }
    return unknown(meant)
  }

  /// Refuses the keys that were never asked for, naming the nearest known one.
  func finish() throws(ConfigurationError) {
    if let entry = entries.first(where: { !asked.contains($0.key) }) { throw unknown(entry) }
  }

  private func unknown(_ entry: ConfigNode.Entry) -> ConfigurationError {
    let known = asked.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    let hint = NearestName.find(entry.key, in: known).map { " (did you mean \"\($0)\"?)" } ?? ""
    return ConfigurationError(
      entry.keyLocation,
      "unknown key \"\(shown(entry.key))\"\(hint); known here: "
        + known.joined(separator: ", ")
    )
  }

  /// The one reader of single values; quotes what was written, never what it expands to.
  private mutating func scalar<Value>(
    _ key: String,
    quoting: Bool = true,
    _ parse: (String) -> Value?,
    expected: () -> String
  ) throws(ConfigurationError) -> Value? {
    guard let node = node(key), !node.isNull else { return nil }
    guard let text = try decoding.text(of: node) else { return nil }
    if let value = parse(text) { return value }
    let found = quoting ? ", not \"\(shown(node.written))\"" : ""
    throw ConfigurationError(node.location, "\(key): expected \(expected())\(found)")
  }
}
