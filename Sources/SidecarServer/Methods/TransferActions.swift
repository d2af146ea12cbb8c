internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `transfer/pause`, `resume`, `cancel` and `retry`: one shape, one event each.
struct TransferPause: TransferAction {
  static let name = "transfer/pause"
  let server: Server

  func act(on id: TransferID) throws(TransferError) -> TransferState {
    try server.engine.pause(id)
  }
}

/// `transfer/resume`: queues a paused transfer again.
struct TransferResume: TransferAction {
  static let name = "transfer/resume"
  let server: Server

  func act(on id: TransferID) throws(TransferError) -> TransferState {
    try server.engine.resume(id)
  }
}

/// `transfer/cancel`: ends a transfer that has not ended.
struct TransferCancel: TransferAction {
  static let name = "transfer/cancel"
  let server: Server

  func act(on id: TransferID) throws(TransferError) -> TransferState {
    try server.engine.cancel(id)
  }
}

/// `transfer/retry`: queues a failed transfer again.
struct TransferRetry: TransferAction {
  static let name = "transfer/retry"
  let server: Server

  func act(on id: TransferID) throws(TransferError) -> TransferState {
    try server.engine.retry(id)
  }
}

/// What these methods share: a transfer's id in, its state out.
protocol TransferAction: ImmediateMethod {
  var server: Server { get }
  func act(on id: TransferID) throws(TransferError) -> TransferState
}

extension TransferAction {
  static func decode(_ fields: inout JSONFields) throws(JSONError) -> TransferID {
    _ = try fields.remote()
    return try fields.transferID()
  }

  func run(_ id: TransferID) throws(TransferError) -> StateReply {
    StateReply(state: try act(on: id))
  }
}

/// `{state}`.
struct StateReply: Reply {
  let state: TransferState

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.field("state", state.rawValue)
    writer.endObject()
  }
}
