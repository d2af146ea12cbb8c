internal import JSON
internal import TransferModel

/// Metadata that an uploader chooses.
struct SettableParams: Sendable {
  var contentType: String?
  private var others = SettableMetadata(contentType: "")

  /// What all values may take together, as Google Cloud Storage limits it, in bytes.
  private static let limit = 8 << 10

  /// Nothing chosen.
  init() {}

  init(_ fields: inout JSONFields) throws(JSONError) {
    contentType = try fields.contentType()
    others.cacheControl = try fields.optionalString("cacheControl")
    others.contentDisposition = try fields.optionalString("contentDisposition")
    others.contentEncoding = try fields.optionalString("contentEncoding")
    others.contentLanguage = try fields.optionalString("contentLanguage")
    if let custom = fields.optionalNode("custom"), !custom.isNull {
      for (key, value) in try custom.members() { others.custom[key] = try value.string() }
    }
    guard fields.object.bytes.count <= Self.limit else {
      throw fields.object.error("may have at most \(Self.limit) bytes")
    }
  }

  /// The metadata with a content type.
  func settable(contentType: String) -> SettableMetadata {
    var settable = others
    settable.contentType = contentType
    return settable
  }

  /// A change to metadata, where null clears.
  static func patch(_ fields: inout JSONFields) throws(JSONError) -> MetadataPatch {
    var patch = MetadataPatch()
    patch.contentType = try change("contentType", &fields)
    patch.cacheControl = try change("cacheControl", &fields)
    patch.contentDisposition = try change("contentDisposition", &fields)
    patch.contentEncoding = try change("contentEncoding", &fields)
    patch.contentLanguage = try change("contentLanguage", &fields)
    if let custom = fields.optionalNode("custom") {
      patch.custom = .some(nil)
      if !custom.isNull {
        var changes: [ExactString: String?] = [:]
        for (key, value) in try custom.members() {
          changes.updateValue(value.isNull ? nil : try value.string(), forKey: ExactString(key))
        }
        patch.custom = changes
      }
    }
    guard fields.object.bytes.count <= limit else {
      throw fields.object.error("may have at most \(limit) bytes")
    }
    return patch
  }

  private static func change(
    _ name: String,
    _ fields: inout JSONFields
  ) throws(JSONError) -> String?? {
    guard let node = fields.optionalNode(name) else { return nil }
    return .some(node.isNull ? nil : try node.string())
  }
}
