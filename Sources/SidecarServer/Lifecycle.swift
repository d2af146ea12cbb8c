internal import Dispatch
internal import Glibc
internal import JSONRPC
internal import Sharing
internal import Synchronization
internal import TransferEngine
internal import TransferModel

/// When the server takes requests, and how it comes to its end.
final class Lifecycle: Sendable {
  private let server: Server
  private let output: Int32
  private let log: Log
  private let trace: Trace?
  private let state = Mutex(State())

  private struct State {
    var hasBegun = false
    var refusesWork = false
    var isShutDown = false
    var isEnding = false
    var watches: [ParentWatch] = []
  }

  /// What became of the transfers, since the start.
  struct Summary: Sendable {
    var completed = 0
    var failed = 0
    var cancelled = 0
    var resumable = 0
  }

  /// Served while shutting down: what helps accepted transfers to their end.
  private static let servedToTheEnd: Set<String> = [
    "transfer/get", "transfer/list", "transfer/cancel", "transfer/forget", "stream/write",
    "stream/read", "stream/close", "channel/unsubscribe",
  ]
  /// Hosts that end a process wait 2 s or less before they kill it.
  private static let patience: Duration = .milliseconds(1000)

  init(server: Server, output: Int32, log: Log, trace: Trace? = nil) {
    self.server = server
    self.output = output
    self.log = log
    self.trace = trace
  }

  /// Why a request is not served now; asked for each, in their order.
  func gate(_ method: String, isAlwaysServed: Bool) -> RPCError? {
    server.counters.received.add(1, ordering: .relaxed)
    log.debug("request \(method)")
    let (hasBegun, refusesWork) = state.withLock { state in
      defer { if method != Initialize.name { state.hasBegun = true } }
      return (state.hasBegun, state.refusesWork)
    }
    if method == Initialize.name, hasBegun {
      return .invalidRequest("initialize must be the first request, and is sent once")
    }
    if isAlwaysServed { return nil }
    if refusesWork, !Self.servedToTheEnd.contains(method) {
      return TransferError(
        .shuttingDown,
        "Ferry is shutting down and takes no new work."
      ).rpc()
    }
    if !server.outbox.admitsWork() {
      server.counters.refused.add(1, ordering: .relaxed)
      return .unread
    }
    return nil
  }

  /// Watches a process the host named beside the parent; when it is gone, so is the server.
  func watch(_ processID: Int32?) {
    let watch = ParentWatch(processID: processID) { [self] event in
      switch event {
      case .processGone:
        end(0, because: "the host's process is gone")
      case .orphaned(let time):
        if PeerWatch.outputReaderGone(output) {
          end(0, because: "the host is gone")
        } else if time >= .seconds(10), server.connection.timeSinceInput >= .seconds(10) {
          end(0, because: "the host is gone: its parent process has ended and stdin is silent")
        }
      }
    }
    state.withLock { $0.watches.append(watch) }
  }

  /// `initialize` has succeeded; one that was refused may be sent again, corrected.
  func begin() { state.withLock { $0.hasBegun = true } }

  /// Refuses new work from now on; replies and ends of accepted work still go out.
  func refuseNewWork() {
    state.withLock { $0.refusesWork = true }
    server.sharingIfAny?.engine.refuseNewWork()
  }

  /// Lets accepted transfers end, cancels those that have not within a time, ends subscriptions.
  func settle(within limit: Duration?) async -> Summary {
    defer { state.withLock { $0.isShutDown = true } }
    guard let sharing = server.sharingIfAny else { return Summary() }
    await sharing.unsubscribeFromAll()
    let engine = sharing.engine
    await idle(engine, within: limit)
    engine.suspendAll()
    await engine.waitUntilIdle()
    await engine.waitUntilTold()
    let counts = engine.counts
    let resumable = engine.suspendedCount
    return Summary(
      completed: counts[.succeeded] ?? 0,
      failed: (counts[.failed] ?? 0) + (counts[.rejected] ?? 0),
      cancelled: (counts[.cancelled] ?? 0) - resumable,
      resumable: resumable
    )
  }

  private func idle(_ engine: TransferEngine, within limit: Duration?) async {
    await withTaskGroup(of: Void.self) { group in
      if let limit {
        group.addTask {
          // Cancelled once the transfers are done.
          try? await Task.sleep(for: limit)
          if !Task.isCancelled { engine.suspendAll() }
        }
      }
      await engine.waitUntilIdle()
      group.cancelAll()
    }
  }

  /// Reading has ended: comes to the right end, never to return.
  func finish(_ end: Connection.EndOfInput) -> Never {
    switch end {
    case .exit:
      let wasShutDown = state.withLock { $0.isShutDown }
      self.end(wasShutDown ? 0 : 1, because: nil)
    case .broken(let reason):
      self.end(2, because: reason)
    case .closed where PeerWatch.outputReaderGone(output):
      // Nobody is left to hear anything.
      self.end(74, because: nil)
    case .closed:
      drain()
    }
    // Ending runs on another thread and takes the process with it.
    while true { pause() }
  }

  /// The host sends no more but still reads: everything accepted is done and answered.
  private func drain() {
    refuseNewWork()
    server.sharingIfAny?.engine.endOpenStreams()
    blocking(for: nil) { [self] in _ = await settle(within: nil) }
    _ = server.connection.waitUntilAnswered(until: .now + .seconds(3600))
    // After the last call, which may need a store.
    blocking(for: nil) { [self] in await server.sharingIfAny?.engine.close() }
    _ = server.outbox.flush(until: .now + .seconds(3600))
    leave(0)
  }

  /// Ends now: cancels everything, says so as far as somebody reads, and leaves, within a second
  /// and a half whatever blocks.
  func end(_ code: Int32, because reason: String?) {
    let isFirst = state.withLock { state in
      defer { state.isEnding = true }
      return !state.isEnding
    }
    guard isFirst else { return }
    if let reason { log.warn("stopping: \(reason)") }
    refuseNewWork()
    blocking(for: Self.patience) { [self] in
      _ = await settle(within: .zero)
      await server.sharingIfAny?.engine.close()
    }
    server.connection.cancelAll()
    _ = server.outbox.flush(until: .now + .milliseconds(300))
    leave(code)
  }

  private func leave(_ code: Int32) -> Never {
    let deadline = ContinuousClock.now + .milliseconds(150)
    log.flush(until: deadline)
    trace?.flush(until: deadline)
    _exit(code)
  }
}

/// Blocks this thread, one of our own, until asynchronous work is done or a time has passed.
func blocking(for limit: Duration?, _ work: @escaping @Sendable () async -> Void) {
  let done = DispatchSemaphore(value: 0)
  Task {
    await work()
    done.signal()
  }
  if let limit {
    _ = done.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1))))
  } else {
    done.wait()
  }
}

extension RPCError {
  /// The host does not read what there is for it.
  static let unread: RPCError = {
    var error = TransferError(
      .overloaded,
      "Too much output lies unread: read stdout, then try again."
    )
    error.retryAfterMs = 250
    return error.rpc()
  }()
}
