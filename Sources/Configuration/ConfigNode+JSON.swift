import JSON

extension ConfigNode {
  /// Takes over a JSON value; every part remembers its pointer, which starts with the given one.
  init(_ json: JSONNode, pointer: String) throws(ConfigurationError) {
    self = try Self.node(json.asRoot, at: pointer, below: pointer, depth: 0)
  }

  private static func node(
    _ json: JSONNode,
    at pointer: String,
    below root: String,
    depth: Int
  ) throws(ConfigurationError) -> ConfigNode {
    let location = ConfigurationLocation.json(pointer: pointer)
    guard depth <= YAMLReader.maxDepth else {
      throw ConfigurationError(
        location,
        "is nested deeper than \(YAMLReader.maxDepth) levels; flatten it"
      )
    }
    let content: Content
    switch json.kind {
    case .null: content = .scalar("null", quoted: false)
    case .bool, .number: content = .scalar(Self.literal(json), quoted: false)
    case .string:
      content = .scalar(
        try checked(below: root) { () throws(JSONError) in try json.string() },
        quoted: true
      )
    case .array:
      let elements = try checked(below: root) { () throws(JSONError) in try json.elements() }
      var nodes: [ConfigNode] = []
      for (index, element) in elements.enumerated() {
        nodes.append(
          try node(element, at: "\(pointer)/\(index)", below: root, depth: depth + 1)
        )
      }
      content = .sequence(nodes)
    case .object:
      let members = try checked(below: root) { () throws(JSONError) in try json.members() }
      var entries: [Entry] = []
      for (key, value) in members {
        let pointer = pointer + "/" + escaped(key)
        entries.append(
          Entry(
            key: key,
            keyLocation: .json(pointer: pointer),
            value: try node(value, at: pointer, below: root, depth: depth + 1)
          )
        )
      }
      content = .mapping(entries)
    }
    return ConfigNode(content: content, location: location)
  }

  /// Whole numbers in their plain form, since encoders also write them as 4.0 and 1e3.
  private static func literal(_ json: JSONNode) -> String {
    // What is no whole number is kept as written, for its reader to judge.
    (try? json.int()).map { "\($0)" } ?? String(decoding: json.bytes, as: UTF8.self)
  }

  private static func checked<Value>(
    below root: String,
    _ read: () throws(JSONError) -> Value
  ) throws(ConfigurationError) -> Value {
    do throws(JSONError) {
      return try read()
    } catch {
      throw ConfigurationError(.json(pointer: root + error.pointer), error.message)
    }
  }

  /// A key inside a JSON pointer (RFC 6901, section 3).
  private static func escaped(_ key: String) -> String {
    shown(key).reduce(into: "") { result, character in
      switch character {
      case "~": result += "~0"
      case "/": result += "~1"
      default: result.append(character)
      }
    }
  }
}
