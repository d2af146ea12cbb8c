internal import Backends
internal import JSON
internal import TransferModel

/// Makes messages of what CometChat sends.
struct MessageReader {
  /// As `Conversation` spells it.
  let channel: String

  /// Seconds since 1970 until the year 10000.
  private static let moments: Range<Int64> = 0..<253_402_300_800

  /// Nil for what is no message to show: actions, calls, and what was deleted.
  func message(_ entry: Members) -> ChannelMessage? {
    guard let id = entry.int("id"), entry["deletedAt"] == nil,
      ["message", "custom", nil].contains(entry.string("category"))
    else { return nil }
    let data = data(of: entry)
    let attachments = attachments(of: entry)
    var message = ChannelMessage(
      channel: channel,
      timetoken: Timetoken(id),
      publisher: entry.string("sender") ?? Members(entry["sender"]).string("uid"),
      meta: data["metadata"]?.raw,
      attachments: attachments,
      sentMs: entry.int("sentAt").flatMap { Self.moments.contains($0) ? $0 * 1000 : nil }
    )
    if let text = data.string("text") {
      var writer = JSONWriter()
      writer.beginObject()
      writer.field("text", text)
      writer.endObject()
      message.message = RawJSON(validated: writer.take())
    } else {
      message.message = data["customData"]?.raw
    }
    return message
  }

  /// The files a message shows, in their order.
  func attachments(of entry: Members) -> [Attachment] {
    var attachments: [Attachment] = []
    data(of: entry)["attachments"]?.forEachElement { element in
      let members = Members(element)
      if let url = members.string("url"), let address = HTTPURL(url) {
        attachments.append(
          Attachment(
            SharedFile(
              id: UploadSlot.id(of: address),
              name: members.string("name") ?? "",
              size: members.int("size"),
              contentType: members.string("mimeType")
            ),
            url: url
          )
        )
      }
      return true
    }
    return attachments
  }

  /// Whether a message is of a conversation, from whichever of its two sides it is seen.
  func isOf(_ conversation: Conversation, _ entry: Members) -> Bool {
    let sender = entry.string("sender") ?? Members(entry["sender"]).string("uid")
    let receiver = entry.string("receiver") ?? Members(entry["receiver"]).string("uid")
    let isSender = conversation.type == "user" && sender == conversation.receiver
    return entry.string("receiverType") == conversation.type
      && (receiver == conversation.receiver || isSender)
  }

  /// An object, or a text that holds one.
  private func data(of entry: Members) -> Members {
    if let text = entry.string("data") {
      return Members(try? JSONNode(parsing: Array(text.utf8)))
    }
    return Members(entry["data"])
  }
}
