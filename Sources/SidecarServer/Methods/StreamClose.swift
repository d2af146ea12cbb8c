internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `stream/close`: the upload has all its bytes.
struct StreamClose: ImmediateMethod {
  static let name = "stream/close"
  let server: Server

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> TransferID {
    _ = try fields.remote()
    return try fields.transferID()
  }

  func run(_ id: TransferID) throws(TransferError) -> EmptyReply {
    try server.engine.pipe(of: id, .upload).finish()
    return EmptyReply()
  }
}
