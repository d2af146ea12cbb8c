internal import JSON
internal import JSONRPC
internal import Sharing
internal import TransferEngine
internal import TransferModel

/// `channel/unsubscribe`: no more messages of channels; without names, of none on the remote.
struct ChannelUnsubscribe: AsyncMethod {
  static let name = "channel/unsubscribe"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var channels: [String]?
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let remote = try fields.remote()
    let channels = try fields.channels()
    if let groups = fields.optionalNode("groups"), !groups.isNull {
      throw fields.error("groups", "is not for local remotes; leave it out")
    }
    return Params(remote: remote, channels: channels)
  }

  func run(_ params: Params) async throws(TransferError) -> EmptyReply {
    let remote = params.remote ?? server.defaultRemote
    _ = try server.engine.remotes.limits(of: remote)
    await server.sharing.unsubscribe(from: params.channels, remote: remote)
    return EmptyReply()
  }
}
