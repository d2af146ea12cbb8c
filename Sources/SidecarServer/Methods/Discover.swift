internal import JSON
internal import JSONRPC
internal import TransferModel

/// `rpc.discover`: the OpenRPC document.
struct Discover: ImmediateMethod {
  static let name = "rpc.discover"
  static let isAlwaysServed = true

  struct Outcome: Reply {
    func write(to writer: inout JSONWriter) {
      writer.raw(RawJSON(validated: EmbeddedSchema.openRPC.withUTF8Buffer { Array($0) }))
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) {}

  func run(_: Void) throws(TransferError) -> Outcome { Outcome() }
}

extension Server {
  /// The OpenRPC document of this version, as text.
  package static var schema: String {
    EmbeddedSchema.openRPC.withUTF8Buffer { String(decoding: $0, as: UTF8.self) }
  }
}
