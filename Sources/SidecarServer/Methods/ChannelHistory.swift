internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `channel/history`: a channel's stored messages, newest page first, each page oldest first.
struct ChannelHistory: AsyncMethod {
  static let name = "channel/history"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var channel: String
    var limit: Int
    var start: Timetoken?
    var end: Timetoken?
    var cipherKey: String?
  }

  struct Outcome: Reply {
    let items: [RawJSON]
    let more: Timetoken?

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.array("messages", items)
      if let more {
        writer.object("more") { $0.field("start", more.description) }
      }
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    try Params(
      remote: fields.remote(),
      channel: fields.channel(),
      limit: fields.limit(),
      start: fields.timetoken("start"),
      end: fields.timetoken("end"),
      cipherKey: fields.optionalString("cipherKey")
    )
  }

  func run(_ params: Params) async throws(TransferError) -> Outcome {
    let remote = params.remote ?? server.defaultRemote
    let settings = server.settings
    let cipherKey = try server.cipherKey(params.cipherKey, on: params.remote)
    let page = try await server.engine.history(
      of: params.channel,
      limit: params.limit,
      start: params.start,
      end: params.end,
      cipherKey: cipherKey,
      remote: remote
    )
    let items = page.messages.map { MessageReply(message: $0, remote: remote).raw(settings) }
    // The newest of them are kept where not all fit. Those of one moment stay together, since the page
    // before begins there.
    let moments = page.messages.map(\.timetoken)
    let cuts = moments.indices.dropFirst().filter { moments[$0 - 1] != moments[$0] }
    let excess = items.count - count(items.reversed(), within: settings.pageBytes)
    guard excess > 0, let cut = cuts.first(where: { $0 >= excess }) ?? cuts.last else {
      return Outcome(items: items, more: page.more)
    }
    return Outcome(items: Array(items[cut...]), more: moments[cut])
  }
}
