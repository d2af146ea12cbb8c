import JSON
import TransferModel

/// What a message's object holds: one JSON object.
enum MessageBody {
  /// The most bytes of one.
  static let limit = 1 << 20

  /// What a channel is told of a file.
  /// - Throws: `ERR_INVALID_ARGUMENT` for more than a message may hold.
  static func encode(
    _ announcement: Announcement,
    _ file: SharedFile
  ) throws(TransferError) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("publisher", announcement.publisher)
    writer.field("customMessageType", announcement.customMessageType)
    writer.field("meta", announcement.meta)
    writer.field("message", announcement.message)
    writer.object("file") { writer in
      writer.field("id", file.id)
      writer.field("name", file.name)
      writer.field("size", file.size)
      writer.field("contentType", file.contentType)
      writer.field("sha256", file.sha256)
    }
    writer.endObject()
    let body = writer.take()
    guard body.count <= limit else {
      throw TransferError(
        .invalidArgument,
        "message and meta make \(body.count) bytes with what goes with them; a message on S3 has at "
          + "most \(limit). Send less beside the file.",
        field: "/message"
      )
    }
    return body
  }

  /// Reads a message; what cannot be read has an error in its place.
  static func decode(
    _ response: HTTPResponse,
    channel: String,
    timetoken: Timetoken
  ) -> ChannelMessage {
    var message = ChannelMessage(channel: channel, timetoken: timetoken, kind: .file)
    do throws(JSONError) {
      guard !response.isCut else { throw JSONError(pointer: "", message: "is too long") }
      var fields = try JSONFields(JSONNode(parsing: response.body))
      message.publisher = try fields.optionalString("publisher")
      message.customMessageType = try fields.optionalString("customMessageType")
      message.meta = fields.raw("meta")
      message.message = fields.raw("message")
      // More than is known may be there: whoever wrote it can be newer.
      guard var file = try fields.optionalFields("file") else { throw fields.missing("file") }
      message.file = SharedFile(
        id: try file.string("id"),
        name: try file.string("name"),
        size: try file.optionalInt("size", in: 0...Int64.max),
        contentType: try file.optionalString("contentType"),
        sha256: try file.optionalString("sha256")
      )
    } catch {
      message.error = TransferError(
        .unknown,
        "This message announces no file: \(error.description). It was not written by "
          + "ferry, or changed since."
      )
    }
    return message
  }
}
