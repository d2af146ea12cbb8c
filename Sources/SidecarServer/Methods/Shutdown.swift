internal import JSON
internal import JSONRPC

/// `shutdown`: refuses new work, lets what was accepted end (or ends it), and sums up.
struct Shutdown: Method {
  static let name = "shutdown"
  static let isAlwaysServed = true
  let lifecycle: Lifecycle

  struct Params: Sendable {
    var mode: Mode
    /// How long accepted transfers may take; nil: as long as they need.
    var deadline: Duration?
  }

  enum Mode: String, CaseIterable, Sendable {
    case drain, now
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    Params(
      mode: try fields.optionalEnum("mode", of: Mode.self) ?? .drain,
      deadline: try fields.optionalInt("deadlineMs", in: 0...Int64(Int32.max))
        .map { .milliseconds($0) }
    )
  }

  func handle(_ params: Params, _ call: Call) {
    lifecycle.refuseNewWork()
    // Ends with the last transfer; the process ends with `exit` or its input.
    Task {
      let summary = await lifecycle.settle(
        within: params.mode == .now ? .zero : params.deadline
      )
      call.succeed { writer in
        writer.beginObject()
        writer.field("completed", summary.completed)
        writer.field("failed", summary.failed)
        writer.field("cancelled", summary.cancelled)
        writer.field("resumable", summary.resumable)
        writer.endObject()
      }
    }
  }
}
