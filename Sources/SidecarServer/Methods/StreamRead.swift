internal import Crypto
internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `stream/read`: the next piece of a download; waits until there is one.
struct StreamRead: Method {
  static let name = "stream/read"
  let server: Server

  struct Params: Sendable {
    var id: TransferID
    var maxBytes: Int
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    _ = try fields.remote()
    return try Params(
      id: fields.transferID(),
      maxBytes: Int(fields.optionalInt("maxBytes", in: 1...Int64.max) ?? 32 << 10)
    )
  }

  func handle(_ params: Params, _ call: Call) {
    // Entered here, on the reader's thread, so that pieces keep the order of the requests.
    do throws(TransferError) {
      let pipe = try server.engine.pipe(of: params.id, .download)
      let limit = min(params.maxBytes, server.settings.streamPieceLimit)
      let ticket = pipe.read(upTo: limit) { result in
        switch result {
        case .success(let piece):
          call.succeed { writer in
            writer.beginObject()
            writer.field("data", Base64.encode(piece ?? []))
            writer.field("eof", piece == nil)
            writer.endObject()
          }
        case .failure(let error):
          call.fail(error.rpc(.init(transferID: params.id)))
        }
      }
      call.onCancel { pipe.stopWaiting(ticket) }
    } catch {
      call.fail(error.rpc(.init(transferID: params.id)))
    }
  }
}
