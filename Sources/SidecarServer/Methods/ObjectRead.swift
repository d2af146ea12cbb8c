internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `object/metadata`: what is known of an object.
struct ObjectRead: AsyncMethod {
  static let name = "object/metadata"
  let server: Server

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> ObjectParams {
    try ObjectParams(&fields)
  }

  func run(_ params: ObjectParams) async throws(TransferError) -> MetadataReply {
    let remote = params.remote ?? server.defaultRemote
    let reference = try server.object(params.ref, on: params.remote)
    return MetadataReply(
      metadata: try await server.engine.metadata(of: reference, on: remote),
      bucket: remote
    )
  }
}
