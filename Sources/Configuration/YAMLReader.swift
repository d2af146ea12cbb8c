import CYAML

/// Reads one YAML document into a ``ConfigNode`` through libyaml's event interface.
///
/// Of YAML it takes what a configuration needs. Anchors, aliases, tags, merge keys and further
/// documents are refused: they make files that read differently from what they say, and aliases
/// let a small file grow without bound.
struct YAMLReader: ~Copyable {
  /// The longest file that is read, in bytes.
  static let maxBytes = 1 << 20
  /// How deep mappings and lists may nest.
  static let maxDepth = 32

  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let file: String

  /// Parses a whole file.
  ///
  /// - Returns: the document's root; nil where the text holds none.
  static func read(_ bytes: [UInt8], file: String) throws(ConfigurationError) -> ConfigNode? {
    guard bytes.count <= maxBytes else {
      throw ConfigurationError(.file(file), "is longer than 1 MiB; this cannot be a configuration")
    }
    // libyaml asserts that there is input.
    guard !bytes.isEmpty else { return nil }
    if let offset = firstInvalidByte(of: bytes) {
      throw ConfigurationError(
        place(of: offset, in: bytes, file: file),
        "is not UTF-8 here; save the file as UTF-8"
      )
    }
    return try bytes.withUnsafeBufferPointer { input throws(ConfigurationError) in
      let reader = try YAMLReader(input, file: file)
      return try reader.document(in: bytes)
    }
  }

  /// libyaml keeps the pointer, so the input must outlive the reader.
  private init(
    _ input: UnsafeBufferPointer<UInt8>,
    file: String
  ) throws(ConfigurationError) {
    parser = .allocate(capacity: 1)
    self.file = file
    guard yaml_parser_initialize(parser) == 1 else {
      // It has freed what it allocated; deleting again is allowed and does nothing.
      throw ConfigurationError(.file(file), "cannot be parsed: out of memory")
    }
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, input.baseAddress, input.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
  }

  private func document(in bytes: [UInt8]) throws(ConfigurationError) -> ConfigNode? {
    var root: ConfigNode?
    while true {
      let event = try next(in: bytes)
      switch event.kind {
      case YAML_STREAM_END_EVENT:
        return root
      case YAML_STREAM_START_EVENT, YAML_DOCUMENT_END_EVENT:
        continue
      case YAML_DOCUMENT_START_EVENT:
        guard root == nil else {
          throw ConfigurationError(
            event.location,
            "a second document starts here; a configuration is one document"
          )
        }
        root = try node(from: try next(in: bytes), in: bytes, depth: 0)
      case let other:
        throw ConfigurationError(event.location, "unexpected YAML event \(other.rawValue)")
      }
    }
  }

  private func node(
    from event: Event,
    in bytes: [UInt8],
    depth: Int
  ) throws(ConfigurationError) -> ConfigNode {
    guard depth <= Self.maxDepth else {
      throw ConfigurationError(
        event.location,
        "is nested deeper than \(Self.maxDepth) levels; flatten it"
      )
    }
    switch event.kind {
    case YAML_SEQUENCE_START_EVENT:
      var elements: [ConfigNode] = []
      while true {
        let event = try next(in: bytes)
        if event.kind == YAML_SEQUENCE_END_EVENT { break }
        elements.append(try node(from: event, in: bytes, depth: depth + 1))
      }
      return ConfigNode(content: .sequence(elements), location: event.location)
    case YAML_MAPPING_START_EVENT:
      return ConfigNode(
        content: .mapping(try entries(in: bytes, depth: depth)),
        location: event.location
      )
    case YAML_SCALAR_EVENT:
      return ConfigNode(
        content: .scalar(event.text, quoted: event.quoted),
        location: event.location
      )
    case let other:
      throw ConfigurationError(event.location, "unexpected YAML event \(other.rawValue)")
    }
  }

  private func entries(
    in bytes: [UInt8],
    depth: Int
  ) throws(ConfigurationError) -> [ConfigNode.Entry] {
    var entries: [ConfigNode.Entry] = []
    var places: [String: ConfigurationLocation] = [:]
    while true {
      let key = try next(in: bytes)
      if key.kind == YAML_MAPPING_END_EVENT { return entries }
      guard key.kind == YAML_SCALAR_EVENT, !key.text.isEmpty else {
        throw ConfigurationError(key.location, "a key must be a plain name")
      }
      if key.text == "<<", !key.quoted {
        throw ConfigurationError(
          key.location,
          "merge keys (<<) are not supported; write the values out"
        )
      }
      if let first = places.updateValue(key.location, forKey: key.text) {
        throw ConfigurationError(
          key.location,
          "duplicate key \"\(shown(key.text))\", first given at \(first)"
        )
      }
      let value = try node(from: try next(in: bytes), in: bytes, depth: depth + 1)
      entries.append(.init(key: key.text, keyLocation: key.location, value: value))
    }
  }

  /// What is used of a libyaml event after it was freed.
  private struct Event {
    var kind: yaml_event_type_t
    var location: ConfigurationLocation
    var text = ""
    var quoted = false
  }

  /// The next event, refused where it carries an anchor, an alias or a tag.
  private func next(in bytes: [UInt8]) throws(ConfigurationError) -> Event {
    var raw = yaml_event_t()
    guard yaml_parser_parse(parser, &raw) == 1 else { throw syntaxError(in: bytes) }
    defer { yaml_event_delete(&raw) }
    var event = Event(kind: raw.type, location: location(raw.start_mark))
    let anchor: UnsafeMutablePointer<yaml_char_t>?
    let tag: UnsafeMutablePointer<yaml_char_t>?
    switch raw.type {
    case YAML_ALIAS_EVENT: (anchor, tag) = (raw.data.alias.anchor, nil)
    case YAML_SCALAR_EVENT:
      let scalar = raw.data.scalar
      (anchor, tag) = (scalar.anchor, scalar.tag)
      event.text = String(
        decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length),
        as: UTF8.self
      )
      event.quoted = scalar.style != YAML_PLAIN_SCALAR_STYLE
    case YAML_SEQUENCE_START_EVENT:
      (anchor, tag) = (raw.data.sequence_start.anchor, raw.data.sequence_start.tag)
    case YAML_MAPPING_START_EVENT:
      (anchor, tag) = (raw.data.mapping_start.anchor, raw.data.mapping_start.tag)
    default: (anchor, tag) = (nil, nil)
    }
    if anchor != nil {
      throw ConfigurationError(
        event.location,
        "anchors (&) and aliases (*) are not supported; write the value out"
      )
    }
    if tag != nil {
      throw ConfigurationError(
        event.location,
        "tags (!) are not supported; quote the value if it starts with \"!\""
      )
    }
    return event
  }

  private func location(_ mark: yaml_mark_t) -> ConfigurationLocation {
    .text(file: file, line: mark.line + 1, column: mark.column + 1)
  }

  /// libyaml's own words, which never quote the input.
  private func syntaxError(in bytes: [UInt8]) -> ConfigurationError {
    let state = parser.pointee
    guard state.error != YAML_MEMORY_ERROR, let problem = state.problem else {
      return ConfigurationError(.file(file), "cannot be parsed: out of memory")
    }
    var message = String(cString: problem)
    if state.error == YAML_READER_ERROR {
      // Reader errors carry a byte offset instead of a mark.
      return ConfigurationError(
        Self.place(of: state.problem_offset, in: bytes, file: file),
        message
      )
    }
    if let context = state.context {
      message += " (\(String(cString: context)) that starts at line \(state.context_mark.line + 1))"
    }
    if message.contains("expected ',' or") {
      message += "; quote a value that holds braces, as in \"${NAME}\""
    }
    return ConfigurationError(location(state.problem_mark), message)
  }

  private static func place(
    of offset: Int,
    in bytes: [UInt8],
    file: String
  ) -> ConfigurationLocation {
    let before = bytes.prefix(offset)
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    // Continuation bytes do not start a character.
    let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
    return .text(file: file, line: line, column: column)
  }

  private static func firstInvalidByte(of bytes: [UInt8]) -> Int? {
    guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
    var decoder = UTF8()
    var input = bytes.makeIterator()
    var offset = 0
    while case .scalarValue(let scalar) = decoder.decode(&input) {
      offset += UTF8.width(scalar)
    }
    return offset
  }
}
