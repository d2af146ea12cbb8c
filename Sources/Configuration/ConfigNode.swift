/// A configuration before it is decoded: what was written, and where.
struct ConfigNode: Sendable, Equatable {
  var content: Content
  var location: ConfigurationLocation

  indirect enum Content: Sendable, Equatable {
    /// Text as written, not yet expanded; quoted text is never null.
    case scalar(String, quoted: Bool)
    case sequence([ConfigNode])
    /// In the order written; keys are unique.
    case mapping([Entry])
  }

  struct Entry: Sendable, Equatable {
    var key: String
    var keyLocation: ConfigurationLocation
    var value: ConfigNode
  }

  /// Whether it stands for "nothing given": an empty value, `~` or `null`, unquoted.
  var isNull: Bool {
    guard case .scalar(let text, quoted: false) = content else { return false }
    return ["", "~", "null", "Null", "NULL"].contains(text)
  }

  /// A single value's text as it was written, before expansion; otherwise empty.
  var written: String {
    if case .scalar(let text, _) = content { text } else { "" }
  }

  /// What it is, for error messages.
  var kindName: String {
    switch content {
    case .scalar: isNull ? "null" : "a single value"
    case .sequence: "a list"
    case .mapping: "a mapping of keys"
    }
  }

  /// The value of a key; nil where it is absent or this is no mapping.
  subscript(key: String) -> ConfigNode? {
    guard case .mapping(let entries) = content else { return nil }
    return entries.first { $0.key == key }?.value
  }

  /// This with another laid over it: mappings merge by key, everything else is replaced.
  func overlaid(by top: ConfigNode) -> ConfigNode {
    guard case .mapping(var entries) = content, case .mapping(let above) = top.content else {
      return top
    }
    for entry in above {
      if let index = entries.firstIndex(where: { $0.key == entry.key }) {
        entries[index].value = entries[index].value.overlaid(by: entry.value)
      } else {
        entries.append(entry)
      }
    }
    return ConfigNode(content: .mapping(entries), location: location)
  }

  /// This with the keys of another put in where they are absent or null.
  func filled(from defaults: ConfigNode) -> ConfigNode {
    guard !isNull else { return defaults }
    guard case .mapping(let own) = content, case .mapping(let entries) = defaults.content else {
      return self
    }
    let kept = own.filter { entry in
      !entry.value.isNull || !entries.contains { $0.key == entry.key }
    }
    let added = entries.filter { entry in !kept.contains { $0.key == entry.key } }
    return ConfigNode(content: .mapping(kept + added), location: location)
  }
}

/// A key as error messages show it: printable and not longer than a line.
func shown(_ text: String) -> String {
  let printable = text.unicodeScalars.map { scalar in
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? "\u{FFFD}" : Character(scalar)
  }
  return printable.count > 64 ? String(printable.prefix(63)) + "…" : String(printable)
}
