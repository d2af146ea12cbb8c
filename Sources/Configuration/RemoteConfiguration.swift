package import TransferModel

/// The kinds of remote this version has.
package enum RemoteKind: String, Sendable, CaseIterable {
  /// A folder of this machine, shared by every ferry process that names it.
  case local
  /// A bucket of an S3 store.
  case s3
  /// A keyset of PubNub.
  case pubnub
  /// An app of CometChat.
  case cometchat
}

/// What a remote needs to be reached, by its kind.
package enum RemoteSettings: Sendable, Equatable {
  /// The absolute path of the folder that holds the objects; made when first used.
  case local(root: String)
  case s3(S3Settings)
  case pubnub(PubNubSettings)
  case cometchat(CometChatSettings)
}

/// A variable that a value names, and that has neither a value nor a default.
package struct MissingVariable: Sendable, Equatable {
  /// The variable's name.
  package var name: String
  /// The value that names it.
  package var location: ConfigurationLocation
}

/// One named destination.
package struct RemoteConfiguration: Sendable, Equatable {
  /// 1 to 64 of `A-Za-z0-9._-`, starting with a letter or digit.
  package var name: String
  /// What it is, which decides its keys.
  package var kind: RemoteKind
  /// The global limits with this remote's own laid over them.
  package var limits: Limits
  /// Variables its values need and do not find; where there are any, ``resolve()`` throws.
  package var missing: [MissingVariable]
  private var settings: RemoteSettings

  /// What reaching the remote needs.
  ///
  /// - Throws: `ERR_CONFIG` naming the variables it needs that are not set.
  package func resolve() throws(TransferError) -> RemoteSettings {
    guard missing.isEmpty else {
      let needs = missing.map { "\($0.name) (\($0.location))" }.joined(separator: ", ")
      throw TransferError(
        .config,
        "remote \"\(name)\" needs environment variables that are not set: \(needs); "
          + "set them and start ferry again",
        field: "/remote"
      )
    }
    return settings
  }

  /// Decodes a remote; variables that are missing are kept until it is used.
  init(
    name: String,
    _ node: ConfigNode,
    limits: Limits,
    _ decoding: Decoding
  ) throws(ConfigurationError) {
    let outside = decoding.missing
    decoding.missing = []
    let kind = try Self.kind(name: name, node, decoding)
    var fields = try ConfigFields(node, section: kind.rawValue, decoding)
    _ = fields.node("kind")
    self.name = name
    self.kind = kind
    self.limits = limits
    if kind == .pubnub, self.limits.maxFileSize == nil {
      self.limits.maxFileSize = PubNubSettings.maxFileSize
    }
    var own = try fields.fields("limits", section: "limits")
    try self.limits.decode(&own)
    switch kind {
    case .local:
      let root = try fields.path("root")
      guard root != nil || !decoding.missing.isEmpty else {
        throw fields.lacking(
          "root",
          "remote \"\(name)\" has no root; add the path of its folder"
        )
      }
      settings = .local(root: root ?? "")
    case .s3:
      settings = .s3(
        try S3Settings(remote: name, &fields) { !decoding.missing.isEmpty }
      )
    case .pubnub:
      settings = .pubnub(
        try PubNubSettings(remote: name, &fields) { !decoding.missing.isEmpty }
      )
    case .cometchat:
      settings = .cometchat(
        try CometChatSettings(remote: name, &fields) { !decoding.missing.isEmpty }
      )
    }
    try fields.finish()
    missing = decoding.missing
    decoding.missing = outside
  }

  private static func kind(
    name: String,
    _ node: ConfigNode,
    _ decoding: Decoding
  ) throws(ConfigurationError) -> RemoteKind {
    // A section of no kind: what it asks for is among the keys of each.
    var fields = try ConfigFields(node, section: "remote", decoding)
    if let kind = try fields.choice("kind", of: RemoteKind.self) { return kind }
    throw decoding.missing.first.map(ConfigurationError.init(missing:))
      ?? fields.lacking(
        "kind",
        "remote \"\(name)\" has no kind; add kind: "
          + RemoteKind.allCases.map(\.rawValue).joined(separator: " or kind: ")
      )
  }
}

extension ConfigurationError {
  /// A variable that is needed at once.
  init(missing: MissingVariable) {
    self.init(
      missing.location,
      "environment variable \(missing.name) is not set; set it or write a default: "
        + "${\(missing.name):-default}"
    )
  }
}
