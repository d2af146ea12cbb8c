package import JSON

/// Everything a host or its user can set, validated.
package struct Configuration: Sendable {
  /// The name of the remote that is used where a call names none; one of ``remotes``.
  package let defaultRemote: String
  /// The absolute path of the folder for what ferry itself must remember.
  package let stateDirectory: String
  /// At least one, in the order written, with different names.
  package let remotes: [RemoteConfiguration]
  /// The limits of remotes that set none of their own.
  package let limits: Limits
  /// The path of the file it came from; nil for the built-in one.
  package let sourceName: String?

  private let tree: ConfigNode
  /// The variables that its values were expanded with.
  package let environment: [String: String]

  /// What ferry does without any file: one remote named `local` below the user's data folder.
  ///
  /// - Throws: where `HOME` is needed and not set.
  package static func builtIn(
    environment: [String: String]
  ) throws(ConfigurationError) -> Configuration {
    let tree = ConfigNode(content: .mapping([]), location: .builtIn)
    return try Configuration(tree, environment: environment, sourceName: nil)
  }

  /// Reads and validates a file.
  ///
  /// - Throws: where the file cannot be read, with its line and column where its content is wrong.
  package static func load(
    file: String,
    environment: [String: String]
  ) throws(ConfigurationError) -> Configuration {
    let bytes = try ConfigurationFile.read(file)
    return try parse(bytes, file: file, environment: environment)
  }

  /// Validates the bytes of a file; its name is only shown.
  static func parse(
    _ bytes: [UInt8],
    file: String,
    environment: [String: String]
  ) throws(ConfigurationError) -> Configuration {
    let root = try YAMLReader.read(bytes, file: file)
    let tree = root ?? ConfigNode(content: .mapping([]), location: .file(file))
    return try Configuration(tree, environment: environment, sourceName: file)
  }

  /// This with a host's own values laid over it (the `config` of `initialize`).
  ///
  /// Mappings merge by key, everything else is replaced, and null gives the built-in value back
  /// (a remote that is null is gone).
  ///
  /// - Parameters:
  ///   - json: an object in the shape of a file, or null for no change.
  ///   - pointer: the JSON pointer of the node, which errors start with.
  /// - Returns: the two as one, validated as a whole.
  /// - Throws: what a file would be refused for, with the pointer in place of line and column.
  package func merging(
    _ json: JSONNode,
    pointer: String = "/config"
  ) throws(ConfigurationError) -> Configuration {
    guard !json.isNull else { return self }
    let top = try ConfigNode(json, pointer: pointer)
    guard case .mapping = top.content else {
      throw ConfigurationError(
        top.location,
        "expected an object of configuration keys, found \(top.kindName)"
      )
    }
    return try Configuration(
      tree.overlaid(by: top),
      environment: environment,
      sourceName: sourceName
    )
  }

  /// The remote of a name; nil where there is none.
  package func remote(named name: String) -> RemoteConfiguration? {
    remotes.first { $0.name == name }
  }

  private init(
    _ written: ConfigNode,
    environment: [String: String],
    sourceName: String?
  ) throws(ConfigurationError) {
    try self.init(written, Decoding(environment: environment), sourceName: sourceName)
  }

  /// Decodes what was written over what is built in; the decoding then knows all keys there are.
  init(
    _ written: ConfigNode,
    _ decoding: Decoding,
    sourceName: String?
  ) throws(ConfigurationError) {
    let tree = written.filled(from: Self.builtInTree)
    self.tree = tree
    self.environment = decoding.environment
    self.sourceName = sourceName
    var fields = try ConfigFields(tree, section: "", decoding)
    let chosen = fields.node("default")
    let chosenName = try fields.string("default")
    let stateDirectory = try fields.path("stateDir")
    var limits = Limits()
    var limitFields = try fields.fields("limits", section: "limits")
    try limits.decode(&limitFields)
    self.limits = limits
    guard let stateDirectory, decoding.missing.isEmpty, let remotes = fields.node("remotes") else {
      // The built-in tree has a state folder and remotes, so only a variable can be missing.
      throw ConfigurationError(missing: decoding.missing[0])
    }
    self.stateDirectory = stateDirectory
    self.remotes = try Self.remotes(remotes, limits: limits, decoding)
    try fields.finish()
    defaultRemote = try Self.defaultRemote(
      chosenName,
      at: chosen?.location ?? tree.location,
      among: self.remotes
    )
  }

  private static func remotes(
    _ node: ConfigNode,
    limits: Limits,
    _ decoding: Decoding
  ) throws(ConfigurationError) -> [RemoteConfiguration] {
    guard case .mapping(let entries) = node.content else {
      throw ConfigurationError(
        node.location,
        "remotes: expected a mapping of names to remotes, found \(node.kindName)"
      )
    }
    var remotes: [RemoteConfiguration] = []
    for entry in entries where !entry.value.isNull {
      guard isName(entry.key) else {
        throw ConfigurationError(
          entry.keyLocation,
          "\"\(shown(entry.key))\" is no remote name; use 1 to 64 letters, digits, dots, "
            + "hyphens and underscores, starting with a letter or digit"
        )
      }
      remotes.append(
        try RemoteConfiguration(name: entry.key, entry.value, limits: limits, decoding)
      )
    }
    guard !remotes.isEmpty else {
      throw ConfigurationError(
        node.location,
        "remotes: names no remote; add one, or leave out remotes for the built-in"
      )
    }
    return remotes
  }

  private static func defaultRemote(
    _ name: String?,
    at location: ConfigurationLocation,
    among remotes: [RemoteConfiguration]
  ) throws(ConfigurationError) -> String {
    let names = remotes.map(\.name)
    if let name {
      if names.contains(name) { return name }
      let hint = NearestName.find(name, in: names).map { " (did you mean \"\($0)\"?)" } ?? ""
      throw ConfigurationError(
        location,
        "default: there is no remote \"\(shown(name))\"\(hint); there are: "
          + names.joined(separator: ", ")
      )
    }
    if names.count == 1 { return names[0] }
    if names.contains("local") { return "local" }
    throw ConfigurationError(
      location,
      "set default: to the remote to use where none is named, one of: "
        + names.joined(separator: ", ")
    )
  }

  private static func isName(_ text: String) -> Bool {
    let name = text.utf8
    return (1...64).contains(name.count)
      && name.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      } && !".-_".utf8.contains(name[name.startIndex])
  }
}
