package import JSON
internal import Synchronization

/// One request that waits for its one reply.
///
/// The first answer wins and later ones are ignored; a call that is let go without any is answered
/// with an internal error, unless it is parked (``Connection/park(_:owner:)``).
package final class Call: Sendable {
  /// The id the host chose.
  package let id: RequestID

  private let connection: Connection
  let batch: BatchReply?
  private let state = Mutex(State())

  private struct State {
    var isAnswered = false
    var isCancelled = false
    var cancelHandler: (@Sendable () -> Void)?
  }

  init(_ id: RequestID, connection: Connection, batch: BatchReply?) {
    self.id = id
    self.connection = connection
    self.batch = batch
  }

  deinit { fail(.internalError) }

  /// Whether the host has cancelled the request.
  package var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Answers with the one value that `result` writes; it is not called when an answer went out.
  package func succeed(_ result: (inout JSONWriter) -> Void) {
    answer { writer in
      writer.key("result")
      result(&writer)
    }
  }

  /// Answers with a value that was validated before.
  package func succeed(_ result: RawJSON) { succeed { $0.raw(result) } }

  /// Answers with an error.
  package func fail(_ error: RPCError) {
    answer { writer in
      writer.key("error")
      error.write(to: &writer)
    }
  }

  /// Says what to do when the host cancels the request; at once if it has already.
  ///
  /// The call must still be answered, with ``RPCError/cancelled`` or with its result. The handler
  /// runs on the reader's thread, must return quickly, and is let go with the answer. A second one
  /// replaces the first.
  package func onCancel(_ handler: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      if !state.isAnswered, !state.isCancelled { state.cancelHandler = handler }
      return state.isCancelled && !state.isAnswered
    }
    if isCancelled { handler() }
  }

  /// Counts the request as answered by somebody else from now on; false where it is too late.
  func letGo() -> Bool {
    // The handler leaves the lock before it is let go, as in `answer`.
    let (isOpen, _) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
      guard !state.isAnswered, !state.isCancelled else { return (false, nil) }
      state.isAnswered = true
      return (true, state.cancelHandler.take())
    }
    return isOpen
  }

  /// Tells the handler; nothing happens after an answer or a second time.
  func cancel() {
    let handler = state.withLock { state -> (@Sendable () -> Void)? in
      guard !state.isAnswered, !state.isCancelled else { return nil }
      state.isCancelled = true
      return state.cancelHandler.take()
    }
    handler?()
  }

  private func answer(_ outcome: (inout JSONWriter) -> Void) {
    // The handler leaves the lock before it is let go: a deinit of what it holds may run anything.
    let (isFirst, _) = state.withLock { state in
      defer { state.isAnswered = true }
      return (!state.isAnswered, state.cancelHandler.take())
    }
    guard isFirst else { return }
    connection.send(reply(to: id, outcome), to: id, in: batch)
  }
}

/// The bytes of one reply; an unknown id is `null`.
func reply(to id: RequestID?, _ outcome: (inout JSONWriter) -> Void) -> [UInt8] {
  var writer = JSONWriter()
  writer.beginObject()
  writer.field("jsonrpc", "2.0")
  writer.key("id")
  writer.verbatim(id?.text ?? "null")
  outcome(&writer)
  writer.endObject()
  return writer.take()
}
