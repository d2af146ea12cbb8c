internal import JSON
internal import TransferModel

extension JSONWriter {
  /// The members of a channel's message.
  ///
  /// `truncated` leaves the host's own content out and says so.
  mutating func message(_ message: ChannelMessage, remote: String, truncated: Bool) {
    field("remote", remote)
    field("channel", message.channel)
    field("subscription", message.subscription)
    field("publisher", message.publisher)
    field("timetoken", message.timetoken.description)
    field("type", message.kind.rawValue)
    field("customMessageType", message.customMessageType)
    field("sentAt", message.sentMs)
    field("late", message.isLate ? true : nil)
    if truncated {
      field("truncated", true)
    } else {
      field("meta", message.meta)
      field("message", message.message)
    }
    if let error = message.error {
      key("error")
      error.write(to: &self)
    }
    if let file = message.file {
      object("file") { writer in
        writer.field("id", file.id)
        writer.field("name", file.name)
        writer.field("size", file.size)
        writer.field("contentType", file.contentType)
        writer.field("sha256", file.sha256)
        writer.field("url", message.fileURL)
      }
    }
    if message.attachments.count > 1 {
      array(
        "attachments",
        message.attachments.map { attachment in
          var writer = JSONWriter()
          writer.beginObject()
          writer.field("id", attachment.file.id)
          writer.attachmentMembers(
            url: attachment.url,
            attachment.file.name,
            type: attachment.file.contentType,
            size: attachment.file.size
          )
          writer.endObject()
          return RawJSON(validated: writer.take())
        }
      )
    }
  }

  /// The members of a file that was sent.
  mutating func sent(_ upload: TransferResult.SharedUpload) {
    field("id", upload.file.id)
    field("name", upload.file.name)
    field("channel", upload.channel)
    field("timetoken", upload.timetoken?.description)
    field("size", upload.file.size)
    field("contentType", upload.file.contentType)
    field("sha256", upload.file.sha256)
    field("url", upload.url)
  }
}
