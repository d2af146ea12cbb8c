package import Configuration
internal import Dispatch
internal import Journal
internal import Synchronization
package import TransferModel

/// Admits, runs, pauses, resumes, cancels and retries transfers.
///
/// Every call is short and may come from any thread; what happens is told in order by `changes`,
/// which has one consumer. Decisions are made by `TransferMachine` and `AdmissionQueue`, bytes
/// are moved by `TransferRun` on the blocking pool, and `Journal` remembers what must outlive the
/// process.
package final class TransferEngine: Sendable {
  /// What happens, in order; one consumer.
  package let changes: AsyncStream<TransferChange>
  /// How far running transfers are.
  package let progress = ProgressBoard()
  /// The configured remotes.
  package let remotes: Remotes

  let tell: AsyncStream<TransferChange>.Continuation
  let state: Guarded<EngineState>
  let pool = BlockingPool()
  /// For the tasks that pass changes on to the host: on one thread, each wakes the next for nothing.
  package let telling = BlockingPool(width: 1)
  let environment: RunEnvironment
  let journal: Journal
  let decode: SpecDecoder
  let revive: WaiterReviver

  /// Makes an engine over the configured remotes; no remote is opened before it is used.
  ///
  /// Processes with the same `stateKey` take over from each other; `decode` reads again what an
  /// earlier one took in, `revive` requests that wait for it; `onTrouble` is told once of each kind of trouble with the journal, and
  /// must not block.
  package init(
    remotes: Remotes,
    configuration: Configuration,
    stateKey: String,
    decode: @escaping SpecDecoder,
    revive: @escaping WaiterReviver,
    onTrouble: @escaping @Sendable (TransferError) -> Void
  ) {
    (changes, tell) = AsyncStream.makeStream(of: TransferChange.self)
    self.remotes = remotes
    self.decode = decode
    self.revive = revive
    environment = RunEnvironment(configuration: configuration, pool: pool)
    journal = Journal(
      stateDirectory: configuration.stateDirectory,
      scope: stateKey,
      onTrouble: onTrouble
    )
    state = Guarded(EngineState(concurrency: configuration.limits.concurrency))
  }

  /// Takes a transfer in, or joins the one with the same id and the same meaning; one that an
  /// earlier process left goes on.
  ///
  /// A request that cannot work as it is (no such file, too large, …) becomes a rejected
  /// transfer: its end comes by `changes` like every other.
  /// An id that the host chose may be known to another process (`isChosen`).
  ///
  /// Where many are yet to be written down, the calling thread waits for that, 2 s at most.
  ///
  /// - Throws: `ERR_DUPLICATE_TRANSFER`, `ERR_SHUTTING_DOWN`, `ERR_CONFIG`; `ERR_OVERLOADED` where
  ///   the journal is too slow or keeps nothing and too many wait.
  package func submit(
    _ spec: TransferSpec,
    isChosen: Bool,
    waiter: Waiter
  ) throws(TransferError) {
    _ = try take(spec, isChosen: isChosen, waiter: waiter, hasPlace: true)
  }

  /// Takes a transfer in, as `submit` does; without a waiter nobody's going away ends it.
  /// - Returns: why it is rejected; nil where it is not, and for one that was joined.
  func take(
    _ spec: TransferSpec,
    isChosen: Bool,
    waiter: Waiter?,
    hasPlace: Bool
  ) throws(TransferError) -> TransferError? {
    let limits = try remotes.limits(of: spec.remote)
    let concurrency = try remotes.concurrency(of: spec.remote)
    let takesEmpty = remotes.takesEmptyFiles(spec.remote)
    let intake = Intake(
      limits: limits,
      takesEmpty: takesEmpty,
      hasPlace: hasPlace,
      limitsFailure: remotes.limitsFailure(of: spec.remote)
    )
    .inspect(spec)
    var spec = spec
    spec.origin.sourceIdentity = intake.sourceIdentity
    try waitForRoom()
    let new = try withLoaded(spec.id) { state throws(TransferError) -> TransferRecord? in
      if state.isShuttingDown {
        throw TransferError(.shuttingDown, "Ferry is shutting down and takes no new work.")
      }
      guard state.records[spec.id] == nil else {
        try join(spec, waiter, &state)
        return nil
      }
      let record = state.newRecord(spec, total: intake.size, concurrency: concurrency)
      return add(record, waiter, rejection: intake.rejection, &state)
    }
    // Without the lock: a journal that keeps nothing answers at once.
    if let new { persist(new, isChosen: isChosen) }
    return intake.rejection
  }

  /// Stops a transfer and gives its slot free; it keeps what it has.
  /// - Returns: the state it is in, or on its way to.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func pause(_ id: TransferID) throws(TransferError) -> TransferState {
    try act(on: id) { $0.pause() }
  }

  /// Queues a paused or interrupted transfer again.
  /// - Returns: the state it is in, or on its way to.
  /// - Throws: `ERR_UNKNOWN_ID`; what its remote cannot be opened for now, and then it stays as it is.
  package func resume(_ id: TransferID) throws(TransferError) -> TransferState {
    try act(on: id, goesOn: true) { $0.resume() }
  }

  /// Ends a transfer that has not ended, leaving nothing of it behind.
  /// - Returns: the state it is in, or on its way to.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func cancel(_ id: TransferID) throws(TransferError) -> TransferState {
    try act(on: id) { $0.cancel() }
  }

  /// Queues a failed transfer again; its attempt rises.
  /// - Returns: the state it is in, or on its way to.
  /// - Throws: as `resume`.
  package func retry(_ id: TransferID) throws(TransferError) -> TransferState {
    try act(on: id, goesOn: true) { $0.retry() }
  }

  /// One request no longer waits; the transfer is cancelled when nobody else does.
  package func withdraw(_ waiter: Waiter, from id: TransferID) {
    state.withLock { state in
      guard let waiters = state.records[id]?.waiters,
        let index = waiters.firstIndex(where: { $0 === waiter })
      else { return }
      if waiters.count == 1, var record = state.records[id], !record.isDetached {
        transition(&record, &state) { $0.cancel() }
        state.records[id] = record
      } else {
        // In place: thousands may wait for one transfer.
        state.records[id]?.waiters.remove(at: index)
        tell.yield(.withdrawn(id, waiter))
      }
    }
  }

  private func waitForRoom() throws(TransferError) {
    switch state.withLock({ $0.findRoom() }) {
    case .some: return
    case .later(let room) where room.wait(timeout: .now() + .seconds(2)) == .success: return
    case .later, .none:
      var error = TransferError(
        .overloaded,
        "Too many transfers wait that cannot be written below stateDir; see stderr, and try again "
          + "when some have ended."
      )
      error.retryAfterMs = 250
      throw error
    }
  }

  private func join(
    _ spec: TransferSpec,
    _ waiter: Waiter?,
    _ state: inout EngineState
  ) throws(TransferError) {
    guard let waiter, let record = state.records[spec.id], record.spec.origin == spec.origin else {
      throw .duplicate(spec.id)
    }
    if record.machine.visible == .interrupted { try requireTaken(spec) }
    if waiter.isDetached { state.records[spec.id]?.isDetached = true }
    if waiter.isDetached, record.isPersisted || record.machine.visible.isSettled {
      tell.yield(.accepted(spec.id, waiter))
    } else if !waiter.isDetached, !record.isEnding, let settlement = record.settlement {
      tell.yield(.joined(settlement, waiter))
    } else {
      // In place: thousands may wait for one transfer.
      state.records[spec.id]?.waiters.append(waiter)
    }
    if record.machine.visible == .interrupted, var interrupted = state.records[spec.id] {
      // Its paths start where this host says, and a stream's bytes come again.
      interrupted.spec = spec
      if case .spool(let path) = record.spec.source {
        interrupted.spec = spec.reading(from: .spool(path: path))
      }
      if spec.isStream { interrupted.pipe = StreamPipe() }
      transition(&interrupted, &state) { $0.resume() }
      state.records[spec.id] = interrupted
    }
    admit(&state)
  }

  /// Enters a new transfer; returns it where it is still to be written down.
  private func add(
    _ record: TransferRecord,
    _ waiter: Waiter?,
    rejection: TransferError?,
    _ state: inout EngineState
  ) -> TransferRecord? {
    var record = record
    if let waiter { record.waiters.append(waiter) }
    record.isDetached = waiter?.isDetached ?? true
    state.active += 1
    guard let rejection else {
      state.expect(record.spec.id)
      state.records[record.spec.id] = record
      return record
    }
    record.error = rejection
    record.isKept = true
    journal.write(.add(row(of: record)))
    transition(&record, &state) { $0.reject() }
    state.records[record.spec.id] = record
    return nil
  }

  /// Looks whether a remote takes what an earlier process left, before anything changes.
  private func requireTaken(_ spec: TransferSpec) throws(TransferError) {
    _ = try remotes.backend(for: spec)
  }

  private func act(
    on id: TransferID,
    goesOn: Bool = false,
    _ event: (inout TransferMachine) -> TransferMachine.Action
  ) throws(TransferError) -> TransferState {
    try withLoaded(id) { state throws(TransferError) in
      guard var record = state.records[id] else { throw .unknownTransfer(id) }
      // Its end must be told before anything new begins.
      guard !record.isEnding else { return record.machine.visible }
      // A batch's files are asked for together, and each has an event to tell it by.
      if goesOn, record.kept != nil, record.machine.canGoOn, record.spec.batchFile == nil {
        try requireTaken(record.spec)
      }
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

  /// A living process has a transfer of this id.
  static func heldElsewhere(_ id: TransferID) -> TransferError {
    var error = TransferError(
      .duplicateTransfer,
      "Another ferry process with the same stateKey is running transfer \(id); try again when "
        + "that has ended."
    )
    error.retryableOverride = true
    return error
  }

  /// A transfer of this id means something else.
  static func duplicate(_ id: TransferID) -> TransferError {
    TransferError(
      .duplicateTransfer,
      "Transfer \(id) exists with other parameters or another source; choose another "
        + "transferId, or transfer/forget it first."
    )
  }
}
