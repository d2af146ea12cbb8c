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
    var groups: [String]?
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let remote = try fields.remote()
    let channels = try fields.channels()
    return Params(remote: remote, channels: channels, groups: try fields.groups())
  }

  func run(_ params: Params) async throws(TransferError) -> EmptyReply {
    let remote = params.remote ?? server.defaultRemote
    _ = try server.engine.remotes.limits(of: remote)
    try server.checkGroups(params.groups, on: params.remote)
    await server.sharing.unsubscribe(
      from: params.channels,
      groups: params.groups,
      remote: remote
    )
    return EmptyReply()
  }
}
