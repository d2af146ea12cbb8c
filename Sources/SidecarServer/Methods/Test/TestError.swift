internal import JSON
internal import JSONRPC
internal import TransferModel

/// `test/error`: fails with the error that is asked for.
struct TestError: ImmediateMethod {
  static let name = "test/error"

  private static let maxMessageBytes = 1024

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> TransferError {
    guard let code = try fields.optionalEnum("code", of: ErrorCode.self) else {
      throw fields.missing("code")
    }
    var error = TransferError(code, "An error that a test asked for.")
    error.retryableOverride = try fields.optionalBool("retryable")
    if let message = try fields.optionalString("message") {
      guard (1...maxMessageBytes).contains(message.utf8.count) else {
        throw fields.error("message", "must be 1 to \(maxMessageBytes) bytes")
      }
      error.message = message
    }
    return error
  }

  func run(_ error: TransferError) throws(TransferError) -> EmptyReply { throw error }
}
