internal import Backends
internal import JSON
internal import JSONRPC
internal import Sharing
internal import TransferModel

/// `channel/subscribe`: messages of channels come as notifications from now on, or from `since`.
struct ChannelSubscribe: Method {
  static let name = "channel/subscribe"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var interest: SubscriptionInterest
    var since: Timetoken?
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let remote = try fields.remote()
    let interest = SubscriptionInterest(
      channels: try fields.channels() ?? [],
      groups: try fields.groups() ?? [],
      filter: try fields.optionalString("filter")
    )
    guard !interest.channels.isEmpty || !interest.groups.isEmpty else {
      throw fields.error("channels", "must name at least one channel")
    }
    return Params(remote: remote, interest: interest, since: try fields.timetoken("since"))
  }

  func handle(_ params: Params, _ call: Call) {
    // Made here, where blocking is allowed.
    let sharing = server.sharing
    call.onCancel { call.fail(.cancelled) }
    // Ends when what was there at the start was told; the subscription itself goes on.
    Task {
      do throws(TransferError) {
        try await sharing.subscribe(
          to: params.interest,
          since: params.since,
          remote: params.remote ?? server.defaultRemote
        ) { timetoken in
          call.succeed { writer in
            writer.beginObject()
            writer.field("timetoken", timetoken.description)
            writer.endObject()
          }
        }
      } catch {
        call.fail(error.rpc())
      }
    }
  }
}
