import JSON

@testable import Configuration

/// As much of JSON Schema 2020-12 as `schema/config.schema.json` uses; other keywords are an error,
/// so that no rule of the schema is passed over.
struct SchemaValidator {
  struct Unsupported: Error { var keyword: String }

  let root: JSONNode

  func accepts(_ node: ConfigNode) throws -> Bool { try accepts(node, root) }

  /// The schema a reference such as `#/$defs/limits` points to.
  func resolved(_ reference: String) throws -> JSONNode {
    var node = root
    for step in reference.split(separator: "/").dropFirst() {
      guard let next = try node.members().first(where: { $0.key == step })?.value else {
        throw Unsupported(keyword: reference)
      }
      node = next
    }
    return node
  }

  private func accepts(_ node: ConfigNode, _ schema: JSONNode) throws -> Bool {
    let members = try schema.members()
    let properties = try members.first { $0.key == "properties" }?.value.members() ?? []
    for (keyword, value) in members {
      let passes =
        switch keyword {
        case "$schema", "$defs", "title", "description", "default": true
        case "type":
          try (value.kind == .array ? value.elements() : [value])
            .contains { try hasType(node, $0.string()) }
        case "$ref": try accepts(node, resolved(value.string()))
        case "anyOf": try value.elements().contains { try accepts(node, $0) }
        case "enum": try value.elements().contains { try $0.string() == node.written }
        case "pattern":
          try node.written.firstMatch(of: Regex(value.string())) != nil
        case "minimum": try (Int64(node.written) ?? .min) >= value.int()
        case "maximum": try (Int64(node.written) ?? .max) <= value.int()
        case "items": try elements(node).allSatisfy { try accepts($0, value) }
        case "required":
          try hasType(node, "object")
            && value.elements().allSatisfy { try node[$0.string()] != nil }
        case "propertyNames":
          try entries(node).allSatisfy {
            try accepts(
              ConfigNode(content: .scalar($0.key, quoted: true), location: .builtIn),
              value
            )
          }
        case "properties":
          try properties.allSatisfy { name, schema in
            try node[name].map { try accepts($0, schema) } ?? true
          }
        case "additionalProperties":
          try entries(node).allSatisfy { entry in
            try properties.contains { $0.key == entry.key }
              || (value.kind == .object && accepts(entry.value, value))
          }
        default: throw Unsupported(keyword: keyword)
        }
      guard passes else { return false }
    }
    return true
  }

  /// Types as the core schema of YAML 1.2 gives them, as editors do.
  private func hasType(_ node: ConfigNode, _ type: String) throws -> Bool {
    switch node.content {
    case .mapping: return type == "object"
    case .sequence: return type == "array"
    case .scalar(_, quoted: true): return type == "string"
    case .scalar(let text, quoted: false):
      if node.isNull { return type == "null" }
      if text.wholeMatch(of: /[-+]?[0-9]+/) != nil { return type == "integer" }
      if text.wholeMatch(of: /0x[0-9a-fA-F]+|0o[0-7]+/) != nil { return false }
      let float = /[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan/
      if text.wholeMatch(of: float) != nil { return type == "number" }
      return type == (["true", "false"].contains(text) ? "boolean" : "string")
    }
  }

  private func entries(_ node: ConfigNode) -> [ConfigNode.Entry] {
    if case .mapping(let entries) = node.content { entries } else { [] }
  }

  private func elements(_ node: ConfigNode) -> [ConfigNode] {
    if case .sequence(let elements) = node.content { elements } else { [] }
  }
}
