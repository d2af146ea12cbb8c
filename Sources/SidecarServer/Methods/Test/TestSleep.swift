internal import JSON
internal import JSONRPC

/// `test/sleep`: answers after a time; cancelled, at once.
struct TestSleep: Method {
  static let name = "test/sleep"

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Duration {
    .milliseconds(try fields.int("ms", in: 0...3_600_000))
  }

  func handle(_ time: Duration, _ call: Call) {
    // Ends with the call, which the connection waits for.
    let task = Task {
      do {
        try await Task.sleep(for: time)
        call.succeed { EmptyReply().write(to: &$0) }
      } catch {
        call.fail(.cancelled)
      }
    }
    call.onCancel { task.cancel() }
  }
}
