internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `message/get`: one stored message.
struct MessageGet: AsyncMethod {
  static let name = "message/get"
  let server: Server

  struct Outcome: Reply {
    let raw: RawJSON

    func write(to writer: inout JSONWriter) { writer.raw(raw) }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> MessageKey {
    try MessageKey(&fields)
  }

  func run(_ key: MessageKey) async throws(TransferError) -> Outcome {
    let remote = key.remote ?? server.defaultRemote
    let message = try await server.engine.message(
      on: key.channel,
      at: key.timetoken,
      remote: remote
    )
    return Outcome(raw: MessageReply(message: message, remote: remote).raw(server.settings))
  }
}

/// What names a message: `channel:timetoken`.
struct MessageKey: Sendable {
  var remote: String?
  var channel: String
  var timetoken: Timetoken

  init(_ fields: inout JSONFields) throws(JSONError) {
    let remote = try fields.remote()
    try self.init(fields.string("messageId"), &fields)
    self.remote = remote
  }

  init(_ id: String, _ fields: inout JSONFields) throws(JSONError) {
    guard let colon = id.utf8.lastIndex(of: UInt8(ascii: ":")), colon != id.startIndex,
      let timetoken = Timetoken(String(id[id.utf8.index(after: colon)...]))
    else {
      throw fields.error("messageId", "must be channel:timetoken")
    }
    channel = String(id[..<colon])
    self.timetoken = timetoken
  }
}
