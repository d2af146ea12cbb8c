internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `file/delete`: removes a channel's file; its announcements stay.
struct FileDelete: AsyncMethod {
  static let name = "file/delete"
  let server: Server

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> FileKeyParams {
    try FileKeyParams(&fields)
  }

  func run(_ params: FileKeyParams) async throws(TransferError) -> EmptyReply {
    try await server.engine.deleteFile(
      params.id,
      name: params.name,
      channel: params.channel,
      remote: params.remote ?? server.defaultRemote
    )
    return EmptyReply()
  }
}
