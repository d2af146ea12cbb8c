internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `object/url`: where an object can be had, usable as it is.
struct ObjectURL: AsyncMethod {
  static let name = "object/url"
  let server: Server

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> ObjectParams {
    let params = try ObjectParams(&fields)
    // Taken for every remote; a file's URL does not expire.
    _ = try fields.optionalInt("expiresIn", in: 1...Int64.max)
    return params
  }

  func run(_ params: ObjectParams) async throws(TransferError) -> URLReply {
    let reference = try server.object(params.ref, on: params.remote)
    return URLReply(
      url: try await server.engine.url(
        of: reference,
        on: params.remote ?? server.defaultRemote
      )
    )
  }
}
