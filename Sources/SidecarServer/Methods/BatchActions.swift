internal import JSON
internal import JSONRPC
internal import Sharing
internal import TransferEngine
internal import TransferModel

/// `batch/configure`: changes how a batch goes about its files, from the next one on.
struct BatchConfigure: ImmediateMethod {
  static let name = "batch/configure"
  let server: Server

  struct Params: Sendable {
    var batchID: String
    var concurrency: Int?
    var retries: Int?
    /// `.some(nil)` where there is to be none.
    var parentMessageID: String??
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    try Params(
      batchID: fields.batchID(),
      concurrency: fields.batchConcurrency(),
      retries: fields.batchRetries(),
      parentMessageID: fields.optionalNode("parentMessageId").map { node throws(JSONError) in
        node.isNull ? nil : try node.string()
      }
    )
  }

  func run(_ params: Params) throws(TransferError) -> EmptyReply {
    let batches = server.sharing.batches
    let settings = try batches.settings(of: params.batchID)
    let parent = try params.parentMessageID.map { text throws(TransferError) in
      try server.parent(text, on: settings.remote, settings.destination)
    }
    try batches.configure(
      params.batchID,
      concurrency: params.concurrency,
      retries: params.retries,
      parent: parent
    )
    return EmptyReply()
  }
}

/// A batch, and a file of it where one is meant.
struct BatchFileParams: Sendable {
  var batchID: String
  var fileID: String?
}

/// `batch/remove`: takes a file out of its batch, silently.
struct BatchRemove: ImmediateMethod {
  static let name = "batch/remove"
  let server: Server

  struct Outcome: Reply {
    let isRemoved: Bool

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.field("removed", isRemoved)
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> BatchFileParams {
    try BatchFileParams(batchID: fields.batchID(), fileID: fields.batchPart("fileId"))
  }

  func run(_ params: BatchFileParams) throws(TransferError) -> Outcome {
    let batches = server.sharing.batches
    return Outcome(isRemoved: try batches.remove(params.fileID ?? "", from: params.batchID))
  }
}

/// `batch/retry`: puts files that failed in line again.
struct BatchRetry: ImmediateMethod {
  static let name = "batch/retry"
  let server: Server

  struct Outcome: Reply {
    let count: Int

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.field("retried", count)
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> BatchFileParams {
    try BatchFileParams(batchID: fields.batchID(), fileID: fields.optionalBatchPart("fileId"))
  }

  func run(_ params: BatchFileParams) throws(TransferError) -> Outcome {
    Outcome(count: try server.sharing.batches.retry(params.fileID, in: params.batchID))
  }
}

/// `batch/clear`: drops a batch with all its files.
struct BatchClear: ImmediateMethod {
  static let name = "batch/clear"
  let server: Server

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> String {
    try fields.batchID()
  }

  func run(_ batchID: String) throws(TransferError) -> EmptyReply {
    try server.sharing.batches.clear(batchID)
    return EmptyReply()
  }
}
