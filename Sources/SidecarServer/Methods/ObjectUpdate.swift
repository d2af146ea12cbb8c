internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `object/update`: changes what the uploader said of an object; null clears.
struct ObjectUpdate: AsyncMethod {
  static let name = "object/update"
  let server: Server

  struct Params: Sendable {
    var object: ObjectParams
    var patch: MetadataPatch
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let object = try ObjectParams(&fields)
    let patch = try fields.optionalObject("metadata", SettableParams.patch)
    guard let patch else { throw fields.error("metadata", "is required") }
    return Params(object: object, patch: patch)
  }

  func run(_ params: Params) async throws(TransferError) -> MetadataReply {
    let remote = params.object.remote ?? server.defaultRemote
    let reference = try server.object(params.object.ref, on: params.object.remote)
    return MetadataReply(
      metadata: try await server.engine.update(reference, params.patch, on: remote),
      bucket: remote
    )
  }
}
