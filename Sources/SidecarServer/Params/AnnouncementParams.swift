internal import JSON
internal import TransferModel

/// What `file/send` and `file/publish` tell a channel's subscribers.
struct AnnouncementParams: Sendable {
  var message: RawJSON?
  var meta: RawJSON?
  var store: Bool
  var ttl: Int64
  var customMessageType: String?
  var replicate: Bool
  var query: [QueryParameter]
  /// Not yet known to be of use to the remote.
  var cipherKey: String?

  /// Reads the parameters; where the message is made of others (`isWhole` is false), not those of
  /// the message itself.
  init(_ fields: inout JSONFields, isWhole: Bool = true) throws(JSONError) {
    message = isWhole ? fields.raw("message") : nil
    if let node = fields.optionalNode("meta"), !node.isNull {
      guard node.kind == .object || node.kind == .string else {
        throw node.error("must be an object or a string")
      }
      meta = node.raw
    }
    store = try fields.bool("store", default: true)
    // Taken for every remote; one machine has nothing to replicate to.
    replicate = try fields.bool("replicate", default: true)
    ttl = try fields.optionalInt("ttl", in: 0...876_000) ?? 0
    customMessageType = try fields.optionalString("customMessageType")
    if let customMessageType, !Self.isMessageType(customMessageType) {
      throw fields.error(
        "customMessageType",
        "must be 3 to 50 of A-Z a-z 0-9 - _, not starting with -, _, pn- or pn_"
      )
    }
    query = try Self.query(fields.optionalNode("query"))
    cipherKey = isWhole ? try fields.optionalString("cipherKey") : nil
  }

  /// A parameter that was given and says other than its default; nil for none.
  var given: String? {
    if meta != nil { return "meta" }
    if !store { return "store" }
    if !replicate { return "replicate" }
    if ttl > 0 { return "ttl" }
    if customMessageType != nil { return "customMessageType" }
    return query.isEmpty ? nil : "query"
  }

  /// Texts, numbers and truth values by name; what is null is left out.
  private static func query(_ node: JSONNode?) throws(JSONError) -> [QueryParameter] {
    guard let node, !node.isNull else { return [] }
    guard node.kind == .object else { throw node.error("must be an object") }
    var query: [QueryParameter] = []
    for (name, value) in try node.members() {
      switch value.kind {
      case .null: break
      case .string: query.append(QueryParameter(name, try value.string()))
      case .bool, .number:
        query.append(QueryParameter(name, String(decoding: value.bytes, as: UTF8.self)))
      case .array, .object: throw value.error("must be a string, a number, true or false")
      }
    }
    return query
  }

  /// PubNub's rule for custom message types.
  private static func isMessageType(_ text: String) -> Bool {
    let isWord = { (byte: UInt8) in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    return (3...50).contains(text.utf8.count) && text.utf8.allSatisfy(isWord)
      && !["-", "_", "pn-", "pn_"].contains { text.hasPrefix($0) }
  }

  /// The announcement of a file.
  func announcement(
    channel: String,
    fileID: String,
    name: String,
    publisher: String,
    cipherKey: Secret?
  ) -> Announcement {
    Announcement(
      channel: channel,
      fileID: fileID,
      fileName: name,
      message: message,
      meta: meta,
      store: store,
      ttlHours: ttl,
      customMessageType: customMessageType,
      publisher: publisher,
      replicate: replicate,
      query: query,
      cipherKey: cipherKey
    )
  }
}
