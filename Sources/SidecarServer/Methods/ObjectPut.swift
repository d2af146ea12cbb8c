internal import JSON
internal import JSONRPC
internal import TransferModel

/// `object/put`: stores an object below a reference.
struct ObjectPut: TransferMethod {
  static let name = "object/put"
  static let isUpload = true
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var ref: String
    var source: SourceParams
    var metadata: SettableParams
    var condition: WriteCondition
    var options: TransferOptions
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let remote = try fields.remote()
    let ref = try fields.string("ref")
    let source = try SourceParams(&fields)
    let metadata =
      try fields.optionalObject("metadata") { fields throws(JSONError) in
        try SettableParams(&fields)
      } ?? SettableParams()
    if let type = source.contentType, let other = metadata.contentType, type != other {
      throw fields.error("contentType", "differs from /metadata/contentType; give one of them")
    }
    let condition = WriteCondition(
      ifNoneMatch: try fields.optionalString("ifNoneMatch"),
      ifMatch: try fields.optionalString("ifMatch")
    )
    return try Params(
      remote: remote,
      ref: ref,
      source: source,
      metadata: metadata,
      condition: condition,
      options: TransferOptions(&fields, isStream: source.isStream)
    )
  }

  func options(of params: Params) -> TransferOptions { params.options }
  func remote(of params: Params) -> String? { params.remote }
  func computesDigest(_ params: Params) -> Bool { params.source.computesDigest }

  func operation(
    _ params: Params,
    _ settings: ServerSettings
  ) throws(TransferError) -> TransferOperation {
    let reference = try server.object(params.ref, on: params.remote)
    let type =
      params.metadata.contentType
      ?? params.source.contentType(orNames: [params.source.name, reference.name])
    return .putObject(
      PutObject(
        reference: reference,
        settable: params.metadata.settable(contentType: type),
        condition: params.condition,
        source: try params.source.source(relativeTo: settings.rootPath)
      )
    )
  }
}
