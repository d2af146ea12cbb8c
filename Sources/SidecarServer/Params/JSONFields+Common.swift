internal import JSON
internal import TransferModel

/// Parameters that many methods share.
extension JSONFields {
  /// The remote's name; nil for the configuration's default.
  mutating func remote() throws(JSONError) -> String? { try optionalString("remote") }

  /// A channel's name: 1 to 1,024 bytes without control characters.
  mutating func channel() throws(JSONError) -> String {
    guard let channel = try optionalChannel() else { throw missing("channel") }
    return channel
  }

  /// A channel's name, where one is given.
  mutating func optionalChannel() throws(JSONError) -> String? {
    guard let channel = try optionalString("channel") else { return nil }
    guard Self.isChannel(channel) else { throw error("channel", Self.channelRule) }
    return channel
  }

  /// Names of channels.
  mutating func channels() throws(JSONError) -> [String]? {
    guard let channels = try optionalStringArray("channels") else { return nil }
    guard channels.allSatisfy(Self.isChannel) else { throw error("channels", Self.channelRule) }
    return channels
  }

  /// Names of groups of channels.
  mutating func groups() throws(JSONError) -> [String]? {
    guard let groups = try optionalStringArray("groups") else { return nil }
    guard groups.allSatisfy(Self.isChannel) else { throw error("groups", Self.channelRule) }
    return groups
  }

  private static func isChannel(_ text: String) -> Bool {
    (1...1024).contains(text.utf8.count) && text.unicodeScalars.allSatisfy { $0.value >= 32 }
  }

  private static let channelRule = "must be 1 to 1024 bytes without control characters"

  /// A MIME type: 1 to 255 printable characters of ASCII.
  mutating func contentType() throws(JSONError) -> String? {
    guard let type = try optionalString("contentType") else { return nil }
    guard (1...255).contains(type.utf8.count), type.utf8.allSatisfy({ $0 >= 32 && $0 < 127 }) else {
      throw error("contentType", "must be 1 to 255 printable ASCII characters, such as image/png")
    }
    return type
  }

  /// Whether a transfer computes the content's SHA-256 while bytes move; by default it does.
  mutating func computesDigest() throws(JSONError) -> Bool {
    try optionalEnum("digest", of: DigestChoice.self) != DigestChoice.none
  }

  /// How many entries a page may have: 1 to 1,000, by default 100.
  mutating func limit() throws(JSONError) -> Int {
    Int(try optionalInt("limit", in: 1...1000) ?? 100)
  }

  /// A transfer's id.
  mutating func transferID() throws(JSONError) -> TransferID {
    guard let id = TransferID(try string("transferId")) else {
      throw error("transferId", "must be 1 to 128 characters, none of them a control character")
    }
    return id
  }

  /// A timetoken in decimal digits.
  mutating func timetoken(_ name: String) throws(JSONError) -> Timetoken? {
    guard let text = try optionalString(name) else { return nil }
    guard let timetoken = Timetoken(text) else {
      throw error(name, "must be a timetoken: a string of decimal digits")
    }
    return timetoken
  }
}

private enum DigestChoice: String, CaseIterable {
  case sha256, none
}
