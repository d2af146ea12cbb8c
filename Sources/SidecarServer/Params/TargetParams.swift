internal import JSON
internal import LocalFiles
internal import TransferModel

/// Where a download goes: a path, `{stream:true}`, `{inline:true, maxSize?}`, or a temporary file.
struct TargetParams: Sendable {
  private var choice: Choice
  private var overwrite: Bool

  private enum Choice: Sendable {
    case path(String)
    case stream
    case inline(maxSize: Int64?)
    case temporary
  }

  init(_ fields: inout JSONFields) throws(JSONError) {
    let target = fields.optionalNode("target")
    overwrite = try fields.bool("overwrite", default: false)
    guard let target, !target.isNull else {
      choice = .temporary
      return
    }
    switch target.kind {
    case .string:
      choice = .path(try target.string())
    case .object:
      choice = try Self.object(target)
    case .null, .bool, .number, .array:
      throw target.error("must be a path, {\"stream\": true} or {\"inline\": true}")
    }
  }

  private static func object(_ target: JSONNode) throws(JSONError) -> Choice {
    var fields = try JSONFields(target)
    let stream = try fields.bool("stream", default: false)
    let inline = try fields.bool("inline", default: false)
    let maxSize = try fields.optionalInt("maxSize", in: 0...Int64.max)
    try fields.finish()
    switch (stream, inline, maxSize) {
    case (true, false, nil): return .stream
    case (false, true, let maxSize): return .inline(maxSize: maxSize)
    case (true, false, .some): throw fields.error("maxSize", "goes with inline only")
    case (true, true, _), (false, false, _):
      throw target.error("must be a path, {\"stream\": true} or {\"inline\": true}")
    }
  }

  var isStream: Bool {
    switch choice {
    case .stream: true
    case .path, .inline, .temporary: false
    }
  }

  /// The target with its path made absolute, and at most as much inline as a reply can carry.
  ///
  /// - Throws: `ERR_INVALID_ARGUMENT` for a path that cannot be.
  func target(
    relativeTo root: String,
    inlineLimit: Int64
  ) throws(TransferError) -> TransferTarget {
    switch choice {
    case .path(let path):
      let path = try PathResolver.resolve(path, relativeTo: root, field: "/target")
      return .path(path, overwrite: overwrite)
    case .stream: return .stream
    case .inline(let maxSize): return .inline(maxSize: min(maxSize ?? .max, inlineLimit))
    case .temporary: return .temporary
    }
  }
}
