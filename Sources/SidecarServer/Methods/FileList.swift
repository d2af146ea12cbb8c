internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `file/list`: a channel's files, oldest first, page by page.
struct FileList: AsyncMethod {
  static let name = "file/list"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var channel: String
    var limit: Int
    var next: String?
  }

  struct Outcome: Reply {
    let items: [RawJSON]
    let next: String?

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.array("files", items)
      writer.next(next)
      writer.field("count", items.count)
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    try Params(
      remote: fields.remote(),
      channel: fields.channel(),
      limit: fields.limit(),
      next: fields.optionalString("next")
    )
  }

  func run(_ params: Params) async throws(TransferError) -> Outcome {
    try await fitting(params.limit, server.settings) { limit throws(TransferError) in
      let page = try await server.engine.listFiles(
        on: params.channel,
        limit: limit,
        next: params.next,
        remote: params.remote ?? server.defaultRemote
      )
      return Outcome(items: page.files.map(Self.item), next: page.next)
    } items: {
      $0.items
    }
  }

  private static func item(_ file: SharedFile) -> RawJSON {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("id", file.id)
    writer.field("name", file.name)
    writer.field("size", file.size)
    writer.field("created", file.createdMs.map { Time.text($0) })
    writer.endObject()
    return RawJSON(validated: writer.take())
  }
}
