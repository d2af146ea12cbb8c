internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `object/list`: objects below a reference in byte order, page by page.
struct ObjectList: AsyncMethod {
  static let name = "object/list"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var ref: String
    var limit: Int
    var next: String?
    var recursive: Bool
  }

  struct Outcome: Reply {
    let items: [RawJSON]
    let prefixes: [RawJSON]
    let next: String?

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.array("items", items)
      writer.array("prefixes", prefixes)
      writer.next(next)
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    try Params(
      remote: fields.remote(),
      ref: fields.optionalString("ref") ?? "",
      limit: fields.limit(),
      next: fields.optionalString("next"),
      recursive: fields.bool("recursive", default: false)
    )
  }

  func run(_ params: Params) async throws(TransferError) -> Outcome {
    let reference = try server.reference(params.ref, on: params.remote)
    return try await fitting(params.limit, server.settings) { limit throws(TransferError) in
      let page = try await server.engine.listObjects(
        below: reference,
        recursive: params.recursive,
        limit: limit,
        next: params.next,
        on: params.remote ?? server.defaultRemote
      )
      return Outcome(
        items: page.items.map(Self.item),
        prefixes: page.prefixes.map(Self.text),
        next: page.next
      )
    } items: {
      $0.items + $0.prefixes
    }
  }

  private static func item(_ entry: ObjectEntry) -> RawJSON {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("ref", entry.fullPath)
    writer.field("name", ObjectReference.lastComponent(of: entry.fullPath))
    writer.field("size", entry.size)
    writer.endObject()
    return RawJSON(validated: writer.take())
  }

  private static func text(_ value: String) -> RawJSON {
    var writer = JSONWriter()
    writer.string(value)
    return RawJSON(validated: writer.take())
  }
}
