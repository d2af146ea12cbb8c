internal import JSON
internal import JSONRPC
internal import TransferModel

/// `ping`: `{}`.
struct Ping: ImmediateMethod {
  static let name = "ping"
  static let isAlwaysServed = true

  static func decode(_ fields: inout JSONFields) throws(JSONError) {}

  func run(_: Void) throws(TransferError) -> EmptyReply { EmptyReply() }
}
