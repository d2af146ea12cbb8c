internal import JSON
internal import JSONRPC
internal import TransferModel

/// `test/flood`: many notifications, as fast as the host reads them, then the reply.
struct TestFlood: Method {
  static let name = "test/flood"
  let server: Server

  struct Params {
    var count: Int64
    var bytes: Int64
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    Params(
      count: try fields.int("count", in: 0...10_000_000),
      bytes: try fields.optionalInt("bytes", in: 0...(16 << 20)) ?? 0
    )
  }

  func handle(_ params: Params, _ call: Call) {
    let limit = server.settings.maxOutLineBytes - Server.envelopeBytes
    guard params.bytes <= limit else {
      let message = "bytes may be at most \(limit); raise maxOutLineBytes."
      return call.fail(TransferError(.invalidArgument, message, field: "/bytes").rpc())
    }
    call.onCancel { call.fail(.cancelled) }
    let payload = String(repeating: "x", count: Int(params.bytes))
    // A thread, since it waits for the host; it ends with the call or the output.
    DedicatedThread.start("test-flood") { [outbox = server.outbox] in
      for index in 0..<params.count {
        // Cancelled, or without an output to answer on.
        guard outbox.waitUntilRead(unless: { call.isCancelled }) else {
          return call.fail(.cancelled)
        }
        outbox.notify(Self.name) { writer in
          writer.field("index", index)
          writer.field("payload", payload)
        }
      }
      call.succeed { EmptyReply().write(to: &$0) }
    }
  }
}
