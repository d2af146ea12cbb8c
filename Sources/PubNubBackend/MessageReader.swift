internal import Backends
internal import Crypto
internal import JSON
internal import TransferModel

/// Makes messages of what PubNub sends, by subscription or from history.
struct MessageReader {
  let remote: PubNubRemote
  let cipher: ContentCipher?
  let nowMs: Int64

  /// What a subscription gets; nil for what has neither channel nor time.
  func message(inEnvelope node: JSONNode) -> ChannelMessage? {
    let members = Members(node)
    guard let channel = members.string("c"),
      let timetoken = Members(members["p"]).timetoken("t")
    else { return nil }
    let kind: ChannelMessage.Kind =
      if channel.hasSuffix("-pnpres") {
        .presence
      } else {
        Self.kind(members.int("e"))
      }
    var message = read(members["d"], kind, channel: channel, timetoken: timetoken)
    message.publisher = members.string("i")
    message.customMessageType = members.string("cmt")
    message.meta = members["u"]?.raw
    if let match = members.string("b"), match != channel { message.subscription = match }
    if members[Salvage.mark] != nil { message.error = Self.unreadable }
    return message
  }

  /// An entry of a channel's history; nil for what has no time.
  func message(inHistory node: JSONNode, of channel: String) -> ChannelMessage? {
    let members = Members(node)
    guard let timetoken = members.timetoken("timetoken") else { return nil }
    let kind = Self.kind(members.int("message_type"))
    var message = read(members["message"], kind, channel: channel, timetoken: timetoken)
    message.publisher = members.string("uuid")
    message.customMessageType = members.string("custom_message_type")
    // Absent metadata comes as an empty text.
    if let meta = members["meta"], !meta.isString("") { message.meta = meta.raw }
    if members[Salvage.mark] != nil { message.error = Self.unreadable }
    return message
  }

  private static func kind(_ number: Int64?) -> ChannelMessage.Kind {
    switch number {
    case 1: .signal
    case 2: .object
    case 3: .messageAction
    case 4: .file
    default: .message
    }
  }

  private func read(
    _ node: JSONNode?,
    _ kind: ChannelMessage.Kind,
    channel: String,
    timetoken: Timetoken
  ) -> ChannelMessage {
    var message = ChannelMessage(channel: channel, timetoken: timetoken, kind: kind)
    guard let node else {
      if kind == .file { message.error = Self.malformed }
      return message
    }
    let payload: Payload.Decoded =
      switch kind {
      case .message, .file: Payload(cipher: cipher).decode(node)
      case .signal, .object, .messageAction, .presence: Payload.Decoded(node: node)
      }
    message.error = payload.error
    guard kind == .file, let (text, file) = Payload.file(in: payload.node) else {
      message.message = payload.node.raw
      if kind == .file, message.error == nil { message.error = Self.malformed }
      return message
    }
    message.message = text
    message.file = file
    message.fileURL = try? remote.url(
      channel: channel,
      id: file.id,
      name: file.name,
      nowMs: nowMs
    )
    return message
  }

  private static let unreadable = TransferError(
    .unknown,
    "A part of this message is left out, since it is no JSON in UTF-8 or nested too deep: whoever "
      + "sent it did not use PubNub's form."
  )

  private static let malformed = TransferError(
    .unknown,
    "This announcement names no file: it is encrypted, and this remote has no crypto, or whoever "
      + "sent it did not use PubNub's form."
  )
}
