internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `file/publish`: announces a file that is stored already.
struct FilePublish: AsyncMethod {
  static let name = "file/publish"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var channel: String
    var id: String
    var name: String
    var announcement: AnnouncementParams
  }

  struct Outcome: Reply {
    let timetoken: Timetoken

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.field("timetoken", timetoken.description)
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    try Params(
      remote: fields.remote(),
      channel: fields.channel(),
      id: fields.string("id"),
      name: fields.string("name"),
      announcement: AnnouncementParams(&fields)
    )
  }

  func run(_ params: Params) async throws(TransferError) -> Outcome {
    let cipherKey = try server.cipherKey(params.announcement.cipherKey, on: params.remote)
    let announcement = params.announcement.announcement(
      channel: params.channel,
      fileID: params.id,
      name: params.name,
      publisher: server.settings.publisher,
      cipherKey: cipherKey
    )
    return Outcome(
      timetoken: try await server.engine.announce(
        announcement,
        on: params.remote ?? server.defaultRemote
      )
    )
  }
}
