internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `file/url`: where a channel's file can be had, usable as it is.
struct FileURL: AsyncMethod {
  static let name = "file/url"
  let server: Server

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> FileKeyParams {
    try FileKeyParams(&fields)
  }

  func run(_ params: FileKeyParams) async throws(TransferError) -> URLReply {
    URLReply(
      url: try await server.engine.url(
        ofFile: params.id,
        name: params.name,
        channel: params.channel,
        remote: params.remote ?? server.defaultRemote
      )
    )
  }
}

/// What names a file on a channel.
struct FileKeyParams: Sendable {
  var remote: String?
  var channel: String
  var id: String
  var name: String

  init(_ fields: inout JSONFields) throws(JSONError) {
    remote = try fields.remote()
    channel = try fields.channel()
    id = try fields.string("id")
    name = try fields.string("name")
  }
}

/// `{url}`.
struct URLReply: Reply {
  let url: String

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.field("url", url)
    writer.endObject()
  }
}
