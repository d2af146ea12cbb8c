internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `transfer/forget`: drops an ended transfer and its temporary file.
struct TransferForget: ImmediateMethod {
  static let name = "transfer/forget"
  let server: Server

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> TransferID {
    _ = try fields.remote()
    return try fields.transferID()
  }

  func run(_ id: TransferID) throws(TransferError) -> EmptyReply {
    try server.engine.forget(id)
    return EmptyReply()
  }
}
