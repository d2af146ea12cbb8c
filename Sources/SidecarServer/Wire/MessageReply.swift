internal import JSON
internal import TransferModel

/// One message of a channel.
struct MessageReply: Reply {
  let message: ChannelMessage
  let remote: String

  func write(to writer: inout JSONWriter) { write(to: &writer, truncated: false) }

  private func write(to writer: inout JSONWriter, truncated: Bool) {
    writer.beginObject()
    writer.message(message, remote: remote, truncated: truncated)
    writer.endObject()
  }

  /// As JSON; without the host's own content where it would not fit a line.
  func raw(_ settings: ServerSettings) -> RawJSON {
    var writer = JSONWriter()
    write(to: &writer, truncated: false)
    if writer.count > settings.pageBytes {
      _ = writer.take()
      write(to: &writer, truncated: true)
    }
    return RawJSON(validated: writer.take())
  }
}
