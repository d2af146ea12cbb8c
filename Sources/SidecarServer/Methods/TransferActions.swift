internal import JSON
internal import JSONRPC
internal import Sharing
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
    // One that an earlier process left makes its batch work again.
    if let file = try server.batchFile(of: id),
      try server.engine.snapshot(of: id).state == .interrupted
    {
      _ = try server.sharing.batches.retry(file.file, in: file.batch)
      return .queued
    }
    return try server.engine.resume(id)
  }
}

/// `transfer/cancel`: ends a transfer that has not ended.
struct TransferCancel: TransferAction {
  static let name = "transfer/cancel"
  let server: Server

  func act(on id: TransferID) throws(TransferError) -> TransferState {
    // A batch's file is removed from it, silently.
    if let file = try server.batchFile(of: id) {
      _ = try server.sharing.batches.remove(file.file, from: file.batch)
      return .cancelled
    }
    return try server.engine.cancel(id)
  }
}

/// `transfer/retry`: queues a failed transfer again.
struct TransferRetry: TransferAction {
  static let name = "transfer/retry"
  let server: Server

  func act(on id: TransferID) throws(TransferError) -> TransferState {
    // The batch is no longer complete.
    if let file = try server.batchFile(of: id) {
      let count = try server.sharing.batches.retry(file.file, in: file.batch)
      return count > 0 ? .queued : try server.engine.snapshot(of: id).state
    }
    return try server.engine.retry(id)
  }
}

extension Server {
  /// The batch's file that a transfer moves; nil for one of its own, and for one not known.
  fileprivate func batchFile(of id: TransferID) throws(TransferError) -> BatchFile? {
    try engine.snapshot(of: id).spec.batchFile
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
