internal import Crypto
internal import JSON
internal import LocalFiles
internal import TransferModel

/// Where an upload's bytes come from: exactly one of `path`, `data`, `text`, `stream`.
struct SourceParams: Sendable {
  private var content: Content
  var name: String?
  var contentType: String?
  var computesDigest: Bool

  private enum Content: Sendable {
    case path(String)
    case bytes([UInt8])
    case stream(size: Int64?)
  }

  init(_ fields: inout JSONFields) throws(JSONError) {
    let path = try fields.optionalString("path")
    let data = try fields.optionalString("data")
    let text = try Self.text(&fields)
    let stream = try fields.optionalObject("stream") { fields throws(JSONError) in
      try fields.optionalInt("size", in: 0...Int64.max)
    }
    name = try fields.optionalString("name")
    contentType = try fields.contentType()
    computesDigest = try fields.computesDigest()
    switch (path, data, text, stream) {
    case (let path?, nil, nil, nil):
      content = .path(path)
    case (nil, let data?, nil, nil):
      guard let bytes = Base64.decode(data) else {
        throw fields.error("data", "must be base64 (RFC 4648, with padding, without line breaks)")
      }
      content = .bytes(bytes)
    case (nil, nil, let text?, nil):
      content = .bytes(Array(text.utf8))
    case (nil, nil, nil, let size?):
      content = .stream(size: size)
    case (nil, nil, nil, nil):
      throw fields.missing("path", ", or data, text or stream instead of it")
    case (.some, _, _, _), (_, .some, _, _), (_, _, .some, _), (_, _, _, .some):
      throw fields.error("path", "give exactly one of path, data, text, stream")
    }
  }

  /// Text may hold NUL: it is content, not a name.
  private static func text(_ fields: inout JSONFields) throws(JSONError) -> String? {
    guard let node = fields.optionalNode("text"), !node.isNull else { return nil }
    return try node.string()
  }

  var isStream: Bool {
    switch content {
    case .stream: true
    case .path, .bytes: false
    }
  }

  /// The last component of the path; nil for other sources, and for paths that cannot be.
  var pathName: String? {
    switch content {
    case .path(let path):
      // A wrong one is refused when it is made absolute, with its reason.
      (try? PathResolver.resolve(path, relativeTo: "/")).map { ObjectReference(path: $0).name }
    case .bytes, .stream: nil
    }
  }

  /// The source with its path made absolute.
  /// - Throws: `ERR_INVALID_ARGUMENT` for a path or URI that cannot name a local file.
  func source(relativeTo root: String) throws(TransferError) -> TransferSource {
    switch content {
    case .path(let path): .path(try PathResolver.resolve(path, relativeTo: root, field: "/path"))
    case .bytes(let bytes): .bytes(bytes)
    case .stream(let size): .stream(size: size)
    }
  }

  /// The type as given, else by the local file's extension, else by the first of the names that
  /// has a known one.
  func contentType(orNames names: [String?]) -> String {
    if let contentType { return contentType }
    for name in [pathName] + names {
      if let type = name.flatMap({ ContentType.ofName($0) }) { return type }
    }
    return ContentType.unknown
  }
}

extension PathResolver {
  /// Makes a path absolute; an error says which parameter it was.
  static func resolve(
    _ path: String,
    relativeTo root: String,
    field: String
  ) throws(TransferError) -> String {
    do throws(TransferError) {
      return try resolve(path, relativeTo: root)
    } catch {
      var error = error
      error.field = field
      throw error
    }
  }
}
