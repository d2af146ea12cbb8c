internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `object/resolve`: what a reference means, without asking the remote.
struct ObjectResolve: ImmediateMethod {
  static let name = "object/resolve"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var ref: String
    var child: String?
  }

  struct Outcome: Reply {
    let reference: ObjectReference
    let bucket: String

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.field("ref", reference.fullPath)
      writer.field("bucket", bucket)
      writer.field("name", reference.name)
      writer.field("fullPath", reference.fullPath)
      writer.key("parent")
      if let parent = reference.parent { writer.string(parent.fullPath) } else { writer.null() }
      writer.field("root", "")
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    try Params(
      remote: fields.remote(),
      ref: fields.string("ref"),
      child: fields.optionalString("child")
    )
  }

  func run(_ params: Params) throws(TransferError) -> Outcome {
    let reference = try server.reference(params.ref, on: params.remote)
    let remote = params.remote ?? server.defaultRemote
    _ = try server.engine.remotes.limits(of: remote)
    return Outcome(
      reference: params.child.map { reference.child($0) } ?? reference,
      bucket: try server.bucket(of: remote)
    )
  }
}
