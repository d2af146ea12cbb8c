internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `transfer/get`: everything known of a transfer.
struct TransferGet: ImmediateMethod {
  static let name = "transfer/get"
  let server: Server

  struct Outcome: Reply {
    let snapshot: [UInt8]

    func write(to writer: inout JSONWriter) { writer.verbatim(snapshot) }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> TransferID {
    _ = try fields.remote()
    return try fields.transferID()
  }

  func run(_ id: TransferID) throws(TransferError) -> Outcome {
    let text = try server.engine.text(of: id) { snapshot in
      var writer = JSONWriter()
      writer.snapshot(snapshot)
      return writer.take()
    }
    return Outcome(snapshot: text)
  }
}
