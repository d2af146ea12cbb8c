package import JSON

/// The error object of a JSON-RPC reply.
package struct RPCError: Error, Sendable, Equatable {
  /// The number; the standard ones lie from -32768 to -32000.
  package var code: Int
  /// What is wrong and what to do, for people.
  package var message: String
  /// What programs decide by, if there is anything.
  package var data: RawJSON?

  /// Makes an error object.
  package init(code: Int, message: String, data: RawJSON? = nil) {
    self.code = code
    self.message = message
    self.data = data
  }

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.field("code", code)
    writer.field("message", message)
    writer.field("data", data)
    writer.endObject()
  }
}

extension RPCError {
  /// The text is no JSON (-32700).
  static func parseError(_ reason: String) -> RPCError {
    RPCError(code: -32700, message: "Parse error: \(reason)")
  }

  /// The JSON is no request (-32600).
  package static func invalidRequest(_ reason: String) -> RPCError {
    RPCError(code: -32600, message: "Invalid request: \(reason)")
  }

  /// A line or body is longer than `limit` bytes (-32600).
  static func lineTooLong(limit: Int) -> RPCError {
    RPCError(
      code: -32600,
      message: "Invalid request: a message may have at most \(limit) bytes",
      data: data("ERR_LINE_TOO_LONG", retryable: false)
    )
  }

  /// There is no such method (-32601).
  static func methodNotFound(_ method: String, hint: String?) -> RPCError {
    let rest = hint.map { "; \($0)" } ?? ""
    return RPCError(code: -32601, message: "Method not found: `\(clipped(method))`\(rest)")
  }

  /// A parameter is missing, unknown or wrong (-32602).
  package static func invalidParams(_ error: JSONError) -> RPCError {
    RPCError(
      code: -32602,
      message:
        "Invalid params: \(error.pointer.isEmpty ? "params" : error.pointer) \(error.message)",
      data: data("ERR_INVALID_ARGUMENT", retryable: false) { $0.field("field", error.pointer) }
    )
  }

  /// A defect of ours: a method let go of its call without an answer (-32603).
  static let internalError = RPCError(
    code: -32603,
    message: "Internal error: the method ended without an answer"
  )

  /// The request was cancelled (-32800).
  package static let cancelled = RPCError(
    code: -32800,
    message: "The request was cancelled",
    data: data("ERR_CANCELLED", retryable: false)
  )

  /// Too many requests are in flight (1702); the host should wait a little.
  package static let overloaded = RPCError(
    code: 1702,
    message: "Too many requests are in flight; wait for replies and try again",
    data: data("ERR_OVERLOADED", retryable: true) { $0.field("retryAfterMs", 250) }
  )

  private static func data(
    _ code: String,
    retryable: Bool,
    _ more: (inout JSONWriter) -> Void = { _ in }
  ) -> RawJSON {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("code", code)
    writer.field("retryable", retryable)
    more(&writer)
    writer.endObject()
    return RawJSON(validated: writer.take())
  }
}
