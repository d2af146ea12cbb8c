internal import JSON
internal import JSONRPC
internal import TransferModel

/// Errors as every reply and notification carries them: one mapping, nothing secret in it.
extension TransferError {
  /// The members of an error object's `data`, with what the place it happened at adds.
  struct Context {
    var transferID: TransferID?
    var attempt: Int?
    var loaded: Int64?
    var resumable: Bool?
    var batchID: String?
    var fileID: String?
  }

  /// The error of a reply.
  func rpc(_ context: Context = Context()) -> RPCError {
    var writer = JSONWriter()
    writeData(to: &writer, context)
    return RPCError(
      code: code.number,
      message: message,
      data: RawJSON(validated: writer.take())
    )
  }

  /// Writes the whole error object.
  func write(to writer: inout JSONWriter, _ context: Context = Context()) {
    writer.beginObject()
    writer.field("code", code.number)
    writer.field("message", message)
    writer.key("data")
    writeData(to: &writer, context)
    writer.endObject()
  }

  private func writeData(to writer: inout JSONWriter, _ context: Context) {
    writer.beginObject()
    writer.field("code", code.rawValue)
    writer.field("retryable", isRetryable)
    writer.field("retryAfterMs", retryAfterMs)
    writer.field("phase", phase?.rawValue)
    writer.field("attempt", context.attempt)
    writer.field("httpStatus", httpStatus)
    writer.field("serverCode", serverCode)
    writer.field("serverMessage", serverMessage)
    if let cause {
      writer.object("cause") { writer in
        writer.field("code", cause.code.rawValue)
        writer.field("httpStatus", cause.httpStatus)
      }
    }
    writer.field("transferId", context.transferID?.description)
    writer.field("batchId", context.batchID)
    writer.field("fileId", context.fileID)
    writer.field("field", field)
    writer.field("fileUploaded", fileUploaded)
    writer.field("id", fileID)
    writer.field("name", fileName)
    writer.field("loaded", context.loaded)
    writer.field("resumable", context.resumable)
    if let sent { writer.members(of: sent) }
    if let supported {
      writer.key("supported")
      writer.beginArray()
      for version in supported { writer.int(Int64(version)) }
      writer.endArray()
    }
    writer.endObject()
  }
}
