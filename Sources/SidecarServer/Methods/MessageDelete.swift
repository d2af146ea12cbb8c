internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `message/delete`: removes one stored message; its file stays.
struct MessageDelete: AsyncMethod {
  static let name = "message/delete"
  let server: Server

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> MessageKey {
    try MessageKey(&fields)
  }

  func run(_ key: MessageKey) async throws(TransferError) -> EmptyReply {
    try await server.engine.deleteMessage(
      on: key.channel,
      at: key.timetoken,
      remote: key.remote ?? server.defaultRemote
    )
    return EmptyReply()
  }
}
