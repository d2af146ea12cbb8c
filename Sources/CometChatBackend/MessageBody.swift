internal import JSON
internal import TransferModel

/// A message as CometChat takes it.
enum MessageBody {
  /// The whole body.
  static func json(of message: MediaMessage, to conversation: Conversation) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("receiver", conversation.receiver)
    writer.field("receiverType", conversation.type)
    writer.field("category", "message")
    writer.field("type", message.kind.rawValue)
    writer.field("data", RawJSON(validated: data(of: message)))
    writer.field("muid", message.muid)
    writer.field("parentId", message.parent?.value)
    if !message.tags.isEmpty { writer.field("tags", message.tags) }
    writer.endObject()
    return writer.take()
  }

  /// Caption, metadata and attachments.
  static func data(of message: MediaMessage) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("text", message.caption)
    writer.field("metadata", message.metadata)
    writer.key("attachments")
    writer.beginArray()
    for attachment in message.attachments {
      writer.beginObject()
      writer.field("url", attachment.url)
      writer.field("name", attachment.file.name)
      writer.field("mimeType", attachment.file.contentType)
      writer.field("extension", SharedFile.pathExtension(of: attachment.file.name))
      writer.field("size", attachment.file.size)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return writer.take()
  }
}
