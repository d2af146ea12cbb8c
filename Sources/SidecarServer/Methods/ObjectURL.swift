internal import Backends
internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `object/url`: where an object can be had, usable as it is.
struct ObjectURL: AsyncMethod {
  static let name = "object/url"
  let server: Server

  struct Params: Sendable {
    var object: ObjectParams
    var expiresIn: Int64?
  }

  struct Outcome: Reply {
    let url: SignedURL

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.field("url", url.url)
      writer.field("expires", url.expiresMs.map(Time.text))
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    Params(
      object: try ObjectParams(&fields),
      // Taken for every remote; a local file's URL does not expire.
      expiresIn: try fields.optionalInt("expiresIn", in: 1...Int64.max)
    )
  }

  func run(_ params: Params) async throws(TransferError) -> Outcome {
    let object = params.object
    return Outcome(
      url: try await server.engine.url(
        of: try server.object(object.ref, on: object.remote),
        expiresIn: params.expiresIn,
        on: object.remote ?? server.defaultRemote
      )
    )
  }
}
