internal import JSON
internal import JSONRPC
internal import TransferModel

/// `test/echo`: the value it is given.
struct TestEcho: ImmediateMethod {
  static let name = "test/echo"
  let server: Server

  struct Outcome: Reply {
    let bytes: [UInt8]

    func write(to writer: inout JSONWriter) { writer.raw(RawJSON(validated: bytes)) }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> RawJSON {
    try fields.node("value").raw
  }

  func run(_ value: RawJSON) throws(TransferError) -> Outcome {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("value", value)
    writer.endObject()
    let limit = server.settings.maxOutLineBytes - Server.envelopeBytes
    guard writer.count <= limit else {
      throw TransferError(
        .invalidArgument,
        "value takes \(writer.count) bytes and may take \(limit); raise maxOutLineBytes.",
        field: "/value"
      )
    }
    return Outcome(bytes: writer.take())
  }
}
