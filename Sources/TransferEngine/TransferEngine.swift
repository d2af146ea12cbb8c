package import Configuration
internal import Synchronization
package import TransferModel

/// Admits, runs, pauses, resumes, cancels and retries transfers.
///
/// Every call is short and may come from any thread; what happens is told in order by `changes`,
/// which has one consumer. Decisions are made by `TransferMachine` and `AdmissionQueue`, bytes
/// are moved by `TransferRun` on the blocking pool.
package final class TransferEngine: Sendable {
  /// What happens, in order; one consumer.
  package let changes: AsyncStream<TransferChange>
  /// How far running transfers are.
  package let progress = ProgressBoard()
  package let remotes: Remotes

  let tell: AsyncStream<TransferChange>.Continuation
  let state: Mutex<EngineState>
  let pool = BlockingPool()
  let environment: RunEnvironment

  /// Makes an engine over the configured remotes; nothing is opened before it is used.
  package init(remotes: Remotes, configuration: Configuration) {
    (changes, tell) = AsyncStream.makeStream(of: TransferChange.self)
    self.remotes = remotes
    environment = RunEnvironment(configuration: configuration)
    state = Mutex(EngineState(concurrency: configuration.limits.concurrency))
  }

  /// Takes a transfer in, or joins the one with the same id and the same meaning.
  ///
  /// A request that cannot work as it is (no such file, too large, …) becomes a rejected
  /// transfer: its end comes by `changes` like every other.
  /// - Throws: `ERR_DUPLICATE_TRANSFER`, `ERR_SHUTTING_DOWN`, `ERR_CONFIG`.
  package func submit(_ spec: TransferSpec, waiter: Waiter) throws(TransferError) {
    let limits = try remotes.limits(of: spec.remote)
    let concurrency = try remotes.concurrency(of: spec.remote)
    let intake = Intake(limits: limits).inspect(spec)
    var spec = spec
    spec.origin.sourceIdentity = intake.sourceIdentity
    try state.withLock { state throws(TransferError) in
      if state.isShuttingDown {
        throw TransferError(.shuttingDown, "Ferry is shutting down and takes no new work.")
      }
      if state.records[spec.id] != nil {
        try join(spec, waiter, &state)
      } else {
        add(spec, waiter, intake, concurrency: concurrency, &state)
      }
    }
  }

  /// Stops a transfer and gives its slot free; it keeps what it has.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func pause(_ id: TransferID) throws(TransferError) -> TransferState {
    try act(on: id) { $0.pause() }
  }

  /// Queues a paused transfer again.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func resume(_ id: TransferID) throws(TransferError) -> TransferState {
    try act(on: id) { $0.resume() }
  }

  /// Ends a transfer that has not ended, leaving nothing of it behind.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func cancel(_ id: TransferID) throws(TransferError) -> TransferState {
    try act(on: id) { $0.cancel() }
  }

  /// Queues a failed transfer again; its attempt rises.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func retry(_ id: TransferID) throws(TransferError) -> TransferState {
    try act(on: id) { $0.retry() }
  }

  /// One request no longer waits; the transfer is cancelled when nobody else does.
  package func withdraw(_ waiter: Waiter, from id: TransferID) {
    state.withLock { state in
      guard var record = state.records[id],
        let index = record.waiters.firstIndex(where: { $0 === waiter })
      else { return }
      if record.waiters.count == 1, !record.isDetached {
        transition(&record, &state) { $0.cancel() }
      } else {
        record.waiters.remove(at: index)
        tell.yield(.withdrawn(id, waiter))
      }
      state.records[id] = record
    }
  }

  private func join(
    _ spec: TransferSpec,
    _ waiter: Waiter,
    _ state: inout EngineState
  ) throws(TransferError) {
    guard var record = state.records[spec.id], record.spec.origin == spec.origin else {
      throw TransferError(
        .duplicateTransfer,
        "Transfer \(spec.id) exists with other parameters or another source; choose another "
          + "transferId, or transfer/forget it first."
      )
    }
    if waiter.isDetached {
      record.isDetached = true
      tell.yield(.accepted(spec.id, waiter))
    } else if let settlement = record.settlement {
      tell.yield(.joined(settlement, waiter))
    } else {
      record.waiters.append(waiter)
    }
    state.records[spec.id] = record
  }

  private func add(
    _ spec: TransferSpec,
    _ waiter: Waiter,
    _ intake: Intake.Finding,
    concurrency: Int,
    _ state: inout EngineState
  ) {
    let isStream = spec.source?.isStream ?? (spec.target == .stream)
    let slot = ProgressSlot(id: spec.id, direction: spec.direction, total: intake.size)
    state.lastNumber += 1
    var record = TransferRecord(
      spec: spec,
      number: state.lastNumber,
      size: AdmissionQueue.size(ofBytes: intake.size, isHosted: isStream),
      slot: slot,
      remoteConcurrency: concurrency,
      pipe: isStream ? StreamPipe() : nil
    )
    state.active += 1
    if waiter.isDetached {
      record.isDetached = true
      tell.yield(.accepted(spec.id, waiter))
    } else {
      record.waiters.append(waiter)
    }
    if let rejection = intake.rejection {
      record.error = rejection
      transition(&record, &state) { $0.reject() }
      state.records[spec.id] = record
    } else {
      enqueue(record, &state)
      state.records[spec.id] = record
      admit(&state)
    }
  }

  private func act(
    on id: TransferID,
    _ event: (inout TransferMachine) -> TransferMachine.Action
  ) throws(TransferError) -> TransferState {
    try state.withLock { state throws(TransferError) in
      guard var record = state.records[id] else { throw .unknownTransfer(id) }
      transition(&record, &state, event)
      state.records[id] = record
      admit(&state)
      return state.records[id]?.machine.intended ?? .cancelled
    }
  }
}

extension TransferError {
  /// No transfer has this id.
  package static func unknownTransfer(_ id: TransferID) -> TransferError {
    TransferError(
      .unknownID,
      "There is no transfer \(id); transfer/list shows those there are.",
      field: "/transferId"
    )
  }
}
