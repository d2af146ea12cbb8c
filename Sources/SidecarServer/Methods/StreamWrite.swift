internal import Crypto
internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `stream/write`: hands over a piece of an upload; answered once it was taken.
struct StreamWrite: Method {
  static let name = "stream/write"
  let server: Server

  struct Params: Sendable {
    var id: TransferID
    var bytes: [UInt8]
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    _ = try fields.remote()
    let id = try fields.transferID()
    guard let bytes = Base64.decode(try fields.string("data")) else {
      throw fields.error("data", "must be base64 (RFC 4648, with padding, without line breaks)")
    }
    return Params(id: id, bytes: bytes)
  }

  func handle(_ params: Params, _ call: Call) {
    // Entered here, on the reader's thread, so that pieces keep the order of the requests.
    do throws(TransferError) {
      try server.engine.pipe(of: params.id, .upload).write(params.bytes) { failure in
        if let failure {
          call.fail(failure.rpc(.init(transferID: params.id)))
        } else {
          call.succeed { EmptyReply().write(to: &$0) }
        }
      }
    } catch {
      call.fail(error.rpc(.init(transferID: params.id)))
    }
  }
}
