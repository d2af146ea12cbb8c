internal import JSON
internal import JSONRPC
internal import TransferModel

/// A result that knows how it is written.
protocol Reply: Sendable {
  /// Writes the one value of the reply's `result`.
  func write(to writer: inout JSONWriter)
}

/// `{}`.
struct EmptyReply: Reply {
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.endObject()
  }
}

/// A method that is answered at once.
protocol ImmediateMethod: Method {
  associatedtype Outcome: Reply
  func run(_ params: Params) throws(TransferError) -> Outcome
}

extension ImmediateMethod {
  package func handle(_ params: Params, _ call: Call) {
    do throws(TransferError) {
      let outcome = try run(params)
      call.succeed { outcome.write(to: &$0) }
    } catch {
      call.fail(error.rpc())
    }
  }
}

/// A method that waits for a disk or a network; cancelled, it is answered at once and what it
/// began may still come about.
protocol AsyncMethod: Method where Params: Sendable {
  associatedtype Outcome: Reply
  func run(_ params: Params) async throws(TransferError) -> Outcome
}

extension AsyncMethod {
  package func handle(_ params: Params, _ call: Call) {
    call.onCancel { call.fail(.cancelled) }
    // Ends with the remote's answer; shutting down waits for the call, not for the task.
    Task {
      do throws(TransferError) {
        let outcome = try await run(params)
        call.succeed { outcome.write(to: &$0) }
      } catch {
        call.fail(error.rpc())
      }
    }
  }
}

/// A method that starts a transfer, and is answered when that has ended (or at once: `detach`).
protocol TransferMethod: Method {
  var server: Server { get }
  /// The options in the parameters.
  func options(of params: Params) -> TransferOptions
  /// What to transfer.
  func operation(
    _ params: Params,
    _ settings: ServerSettings
  ) throws(TransferError)
    -> TransferOperation
  /// The remote, nil for the default.
  func remote(of params: Params) -> String?
  /// Whether a digest is computed.
  func computesDigest(_ params: Params) -> Bool
}

extension TransferMethod {
  func computesDigest(_ params: Params) -> Bool { true }

  package func handle(_ params: Params, _ call: Call) {
    do throws(TransferError) {
      let options = options(of: params)
      let spec = TransferSpec(
        id: options.transferID,
        remote: remote(of: params) ?? server.defaultRemote,
        operation: try operation(params, server.settings),
        computesDigest: computesDigest(params),
        reportsProgress: options.reportsProgress,
        origin: TransferOrigin(
          method: Self.name,
          params: options.canonical,
          sourceIdentity: ""
        )
      )
      try server.engine.submit(spec, for: call, isDetached: options.isDetached)
    } catch {
      call.fail(error.rpc())
    }
  }
}
