internal import Synchronization
internal import TransferModel

/// Where the machines' decisions are carried out.
extension TransferEngine {
  /// Lets an event happen to a transfer and does what its machine decides.
  func transition(
    _ record: inout TransferRecord,
    _ state: inout EngineState,
    _ event: (inout TransferMachine) -> TransferMachine.Action
  ) {
    let wasActive = record.machine.isActive
    let action = event(&record.machine)
    apply(action, to: &record, &state)
    switch (wasActive, record.machine.isActive) {
    case (true, false): state.leaveActive()
    case (false, true): state.active += 1
    case (true, true), (false, false): break
    }
  }

  /// Starts queued transfers while slots are free.
  func admit(_ state: inout EngineState) {
    if state.isEnding { return }
    while !state.isHeld, let id = state.queue.admitNext() {
      guard var record = state.records[id] else { continue }
      transition(&record, &state) { $0.admit() }
      state.records[id] = record
    }
    loadNext(&state)
  }

  private func apply(
    _ action: TransferMachine.Action,
    to record: inout TransferRecord,
    _ state: inout EngineState
  ) {
    switch action {
    case .none:
      break
    case .start(let attempt, let announces):
      start(&record, attempt: attempt, announces: announces)
    case .stop:
      record.task?.cancel()
    case .pause:
      state.queue.remove(record)
      acceptDetached(&record)
      tell.yield(.paused(record.slot, loaded: record.slot.loaded))
    case .enqueue(let resumed):
      if resumed { tell.yield(.resumed(record.slot, loaded: record.slot.loaded)) }
      record.error = nil
      // One that is not yet written down is queued when it is.
      if record.isPersisted { enqueue(record, &state) }
    case .pauseAndEnqueue:
      tell.yield(.paused(record.slot, loaded: record.slot.loaded))
      tell.yield(.resumed(record.slot, loaded: record.slot.loaded))
      enqueue(record, &state)
    case .settle(let end):
      settle(&record, as: end, &state)
    case .suspend:
      record.isSuspended = true
      settle(&record, as: .cancelled, &state)
    }
  }

  func enqueue(_ record: TransferRecord, _ state: inout EngineState) {
    state.queue.enqueue(
      record.spec.id,
      remote: record.spec.remote,
      batch: record.spec.batchFile?.batch,
      size: record.size,
      concurrency: record.remoteConcurrency
    )
  }

  private func start(_ record: inout TransferRecord, attempt: Int, announces: Bool) {
    let slot = record.slot
    if announces {
      slot.begin(attempt: attempt)
      slot.set(loaded: 0)
      tell.yield(.started(slot, attempt: attempt, total: slot.total))
    }
    if announces, attempt > 1 { persistAttempt(of: record) }
    if record.spec.reportsProgress { progress.add(slot) }
    let isRetry = announces && record.run != nil
    let run = record.run ?? makeRun(&record)
    record.run = run
    record.room = .slot
    let id = record.spec.id
    record.task = Task(executorPreference: pool) { [self] in
      if isRetry { await run.restart() }
      finish(id, await run.run())
    }
  }

  /// A run has moved all its bytes: another may move its own while the remote confirms.
  private func startConfirming(_ id: TransferID) {
    state.withLock { state in
      guard var record = state.records[id] else { return }
      freeSlot(of: &record, &state)
      state.records[id] = record
      admit(&state)
    }
  }

  /// Frees the slot of a transfer that only waits for others' word: the remote's, the journal's.
  private func freeSlot(of record: inout TransferRecord, _ state: inout EngineState) {
    // With one slot transfers follow each other strictly.
    let limit = EngineState.confirmingLimit(beside: state.queue.concurrency)
    guard state.queue.concurrency > 1, state.confirming < limit,
      record.room == .slot, state.queue.slots(of: record) > 1
    else { return }
    record.room = .confirming
    state.confirming += 1
    state.queue.release(record)
  }

  private func giveBackRoom(of record: inout TransferRecord, _ state: inout EngineState) {
    switch record.room {
    case .none: break
    case .slot: state.queue.release(record)
    case .confirming: state.confirming -= 1
    }
    record.room = .none
  }

  /// A run came to its end: its slot is free, and its machine says what that means.
  private func finish(_ id: TransferID, _ end: TransferRun.End) {
    // Before the end is told, so that no progress can follow it.
    progress.remove(id)
    state.withLock { state in
      guard var record = state.records[id] else { return }
      record.task = nil
      let runEnd: TransferMachine.RunEnd
      switch end {
      case .succeeded(let result):
        record.result = result
        runEnd = .succeeded
      case .failed(let error, let kept):
        record.error = error
        if let kept { (record.run, record.kept) = (nil, kept) }
        runEnd = .failed(rejected: error.rejects)
      case .stopped(let inHand):
        if let inHand { (record.run, record.kept) = (nil, inHand) }
        runEnd = .stopped
      }
      transition(&record, &state) { $0.runEnded(runEnd) }
      if !record.isEnding {
        giveBackRoom(of: &record, &state)
      } else if case .succeeded = end {
        freeSlot(of: &record, &state)
      }
      state.records[id] = record
      admit(&state)
    }
  }

  /// The run of a transfer, which goes on from what an earlier process had in hand.
  func makeRun(_ record: inout TransferRecord) -> TransferRun {
    defer { record.kept = nil }
    let id = record.spec.id
    return TransferRun(
      spec: record.spec,
      slot: record.slot,
      pipe: record.pipe,
      remotes: remotes,
      environment: environment,
      kept: record.kept,
      confirming: { [self] in startConfirming(id) },
      remember: { [self] runState, awaited in
        await remember(runState, of: id, awaited: awaited)
      }
    )
  }

  private func settle(
    _ record: inout TransferRecord,
    as end: TransferState,
    _ state: inout EngineState
  ) {
    let id = record.spec.id
    state.noLongerCounts(id)
    if end == .cancelled {
      state.queue.remove(record)
      let announces = record.spec.announces
      record.error =
        if record.isSuspended {
          .suspended(announces: announces)
        } else if record.isAbandoned {
          .abandoned(announces: announces)
        } else {
          .cancelled(announces: announces)
        }
    }
    if let error = record.error { record.pipe?.fail(error) }
    // An earlier process had all of it; what this host has written since nobody reads.
    if end == .succeeded, record.spec.direction == .upload { record.pipe?.fail(.closedStream) }
    guard let settlement = record.settlement else {
      preconditionFailure("\(id) settled as \(end) without a result or an error")
    }
    acceptDetached(&record)
    if case .downloaded(let download) = record.result, let data = download.data {
      state.keepData(of: id, data.count)
    }
    // Nobody can go on with it.
    let isLost = end == .cancelled || end == .rejected
    if isLost, record.kept != nil { record.run = makeRun(&record) }
    let leftovers = isLost ? record.run : nil
    if end != .failed { record.run = nil }
    // What it left goes, and its end is written down, before anybody hears of it: nobody is told
    // what a kill could make untrue. Until then the engine is not idle.
    record.isEnding = true
    state.active += 1
    if record.isSuspended {
      // A later process has it: it must not be pushed out here.
      state.count(ended: end)
      Task(executorPreference: pool) { [self] in
        await leftovers?.suspend()
        tellEnd(settlement)
      }
    } else {
      letGo(state.remember(settled: id, as: end), &state)
      guard let leftovers else {
        return persistEnd(of: record) { [self] in tellEnd(settlement) }
      }
      let ended = record
      Task(executorPreference: pool) { [self] in
        // What a rejected send had stored can still be announced.
        let isClean = await leftovers.abandon(withFile: end == .cancelled)
        let row = isClean ? nil : await remains(of: leftovers, ended)
        persistEnd(of: ended, leaving: row) { [self] in tellEnd(settlement) }
      }
    }
  }

  /// Tells an end that is written down, with everyone who waits for it; then its room is free.
  private func tellEnd(_ settlement: TransferSettlement) {
    state.withLock { state in
      let id = settlement.id
      tell.yield(.settled(settlement, state.records[id]?.waiters ?? []))
      if var record = state.records[id] {
        record.waiters = []
        record.isEnding = false
        giveBackRoom(of: &record, &state)
        state.records[id] = record.isDiscarded ? nil : record
        if record.isDiscarded { forget(record, &state) }
      }
      state.leaveActive()
      admit(&state)
    }
  }

  /// Tells detached requests that their transfer is taken in; before everything else about it.
  func acceptDetached(_ record: inout TransferRecord) {
    for waiter in record.waiters where waiter.isDetached {
      tell.yield(.accepted(record.spec.id, waiter))
    }
    record.waiters.removeAll { $0.isDetached }
  }
}

extension AdmissionQueue {
  fileprivate mutating func remove(_ record: TransferRecord) {
    let spec = record.spec
    remove(spec.id, remote: spec.remote, batch: spec.batchFile?.batch, size: record.size)
  }

  fileprivate mutating func release(_ record: TransferRecord) {
    let spec = record.spec
    release(remote: spec.remote, batch: spec.batchFile?.batch, size: record.size)
  }

  /// The slots of a transfer's batch; no end of them for one of its own.
  fileprivate func slots(of record: TransferRecord) -> Int {
    record.spec.batchFile.map { slots(ofBatch: $0.batch, on: record.spec.remote) } ?? .max
  }
}

extension TransferError {
  /// Somebody cancelled it; what a cancelled send had stored is removed again.
  fileprivate static func cancelled(announces: Bool) -> TransferError {
    var error = TransferError(.cancelled, "The transfer was cancelled.")
    error.fileUploaded = announces ? false : nil
    return error
  }

  /// An earlier process left it, and nobody has gone on with it since.
  fileprivate static func abandoned(announces: Bool) -> TransferError {
    var error = cancelled(announces: announces)
    error.message =
      "The upload was interrupted longer ago than its remote's abandonAfter, so what was stored of "
      + "it was removed; send it again."
    return error
  }

  /// The process ends first.
  static func suspended(announces: Bool) -> TransferError {
    var error = cancelled(announces: announces)
    error.message = "The process ends; the transfer can be resumed in the next one."
    return error
  }
}
