internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `object/delete`: removes an object.
struct ObjectDelete: AsyncMethod {
  static let name = "object/delete"
  let server: Server

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> ObjectParams {
    try ObjectParams(&fields)
  }

  func run(_ params: ObjectParams) async throws(TransferError) -> EmptyReply {
    let reference = try server.object(params.ref, on: params.remote)
    try await server.engine.delete(reference, on: params.remote ?? server.defaultRemote)
    return EmptyReply()
  }
}
