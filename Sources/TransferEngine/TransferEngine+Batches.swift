package import JSON
internal import Journal
internal import LocalFiles
internal import Synchronization
package import TransferModel

/// A batch's file as an earlier process left it.
package struct RestoredFile: Sendable {
  package let id: TransferID
  package let file: BatchFile
  package let state: TransferState
  /// The name subscribers see, or the object's.
  package let name: String
  /// A MIME type.
  package let contentType: String
  /// Whether its channel was told of it.
  package let isAnnounced: Bool
}

extension RestoredFile {
  init(_ record: TransferRecord, _ file: BatchFile) {
    id = record.spec.id
    self.file = file
    state = record.machine.visible
    if case .shared(let shared) = record.result {
      isAnnounced = shared.timetoken != nil
    } else {
      isAnnounced = false
    }
    switch record.spec.operation {
    case .putObject(let put): (name, contentType) = (put.reference.name, put.settable.contentType)
    case .sendFile(let send): (name, contentType) = (send.name, send.contentType)
    case .getObject, .downloadFile: (name, contentType) = ("", ContentType.unknown)
    }
  }
}

/// What batches need of the engine, which keeps their files as it keeps every transfer.
extension TransferEngine {
  /// Takes a batch's file in; its events come by `changes`, like those of every transfer.
  ///
  /// Blocks the calling thread as `submit` does.
  ///
  /// - Parameters:
  ///   - spec: with its `batchFile`.
  ///   - hasPlace: false where the batch is full.
  /// - Returns: whether it takes a place in its batch; false for one that is rejected.
  /// - Throws: `ERR_SHUTTING_DOWN`, `ERR_OVERLOADED`, `ERR_INVALID_ARGUMENT`.
  package func submit(_ spec: TransferSpec, hasPlace: Bool) throws(TransferError) -> Bool {
    try take(spec, isChosen: false, waiter: nil, hasPlace: hasPlace) == nil
  }

  /// Does something that needs a remote's limits: at once where they are known, else once the remote
  /// was asked, on a thread where blocking is allowed.
  package func withLimits(of remote: String, _ body: @escaping @Sendable () -> Void) {
    if remotes.knowsLimits(of: remote) { return body() }
    // Ends with the answer; whoever asked for it is answered by `body`.
    Task(executorPreference: pool) { [self] in
      await remotes.learnLimits(of: remote)
      body()
    }
  }

  /// Sets how many files of a batch move at the same time, from the next one on; nil: it is over.
  package func set(slots: Int?, ofBatch batch: String, on remote: String) {
    state.withLock { state in
      state.queue.set(slots: slots, ofBatch: batch, on: remote)
      admit(&state)
    }
  }

  /// Tells whoever consumes the changes to look at a batch, after all that has happened so far.
  package func poke(batch: String) { tell.yield(.batch(batch)) }

  /// Writes down soon what a batch is.
  package func keep(batch: String, _ record: [UInt8]) {
    journal.write(.keepBatch(batch, record))
  }

  /// Returns when all is written down that was to be.
  package func written() async { await journal.write([]) }

  /// Drops a batch from the journal; its files are discarded one by one.
  package func forget(batch: String) { journal.write(.forgetBatch(batch)) }

  /// What earlier processes left of batches since the last call: the batches with what was kept of
  /// each, and their files.
  package func takeRestored() async -> (batches: [ExactString: [UInt8]], files: [RestoredFile]) {
    let files = state.withLock { state in
      defer { state.restoredFiles = [] }
      return state.restoredFiles
    }
    return (await journal.batches(), files)
  }

  /// Remembers that the channel was told of a batch's file; returns when that is written down.
  package func announced(_ id: TransferID, at timetoken: Timetoken) async {
    guard case .shared(var shared) = await snapshots(of: [id])[id]?.result else { return }
    shared.timetoken = timetoken
    let isKnown = state.withLock { state in
      state.records[id]?.result = .shared(shared)
      return state.records[id] != nil || state.shelf.contains(id)
    }
    guard isKnown else { return }
    var update = JournalUpdate()
    update.snapshot = SnapshotCodec.encode(.init(result: .shared(shared)))
    await journal.write([.update(id, update)])
  }

  /// What is known of transfers, wherever they are kept; those that are gone are left out.
  package func snapshots(of ids: [TransferID]) async -> [TransferID: TransferSnapshot] {
    var found: [TransferID: TransferSnapshot] = [:]
    let kept = state.withLock { state in
      ids.filter { id in
        found[id] = state.records.snapshot(of: id)
        return found[id] == nil
      }
    }
    if kept.isEmpty { return found }
    let rows = await withCheckedContinuation { continuation in
      journal.rows(ids: kept) { continuation.resume(returning: $0) }
    }
    for row in rows { found[row.id] = snapshot(of: row) }
    return found
  }

  /// The snapshot of a transfer whose record is in the journal; of one that has gone on meanwhile,
  /// what is known now.
  func snapshot(of row: JournalRow) -> TransferSnapshot? {
    let (present, isParked) = state.withLock { state in
      (state.records.snapshot(of: row.id), state.parked.number(of: row.id) != nil)
    }
    if let present { return present }
    guard var record = try? record(of: row) else { return nil }
    if isParked { record.machine = TransferMachine() }
    return record.snapshot
  }

  /// Ends transfers of a batch, whatever their state, and drops them from the journal at once.
  ///
  /// One that runs still has its end told, once it has stopped and left nothing behind.
  package func discard(_ ids: [TransferID]) {
    var kept: [TransferID] = []
    state.withLock { state in
      for id in ids {
        if discard(id, &state) { continue }
        kept.append(id)
      }
      admit(&state)
    }
    if kept.isEmpty { return }
    journal.rows(ids: kept) { [self] rows in
      for row in rows { discard(row) }
    }
  }

  /// Keeps the engine from coming to rest while a batch works beside its transfers.
  package func whileActive(_ body: () async -> Void) async {
    state.withLock { $0.active += 1 }
    await body()
    state.withLock { $0.leaveActive() }
  }

  /// Whether new work is refused.
  package var isShuttingDown: Bool { state.withLock { $0.isShuttingDown } }

  /// Keeps an ended record in the journal alone.
  func shelve(_ record: TransferRecord, as file: BatchFile, _ state: inout EngineState) {
    let id = record.spec.id
    // A retry goes on from what the row tells.
    if let run = record.run { Task(executorPreference: pool) { await run.suspend() } }
    state.records[id] = nil
    state.forgetEnd(of: id)
    state.shelf.add(
      id,
      .init(
        number: record.number,
        remote: record.spec.remote,
        state: record.machine.visible,
        file: file
      )
    )
  }

  /// False where the journal alone knows what there is to throw away.
  private func discard(_ id: TransferID, _ state: inout EngineState) -> Bool {
    if state.parked.number(of: id) != nil {
      state.parked.discard(id)
      state.count(ended: .cancelled)
      state.leaveActive()
      return false
    }
    if state.shelf.remove(id) != nil { return false }
    guard var record = state.records[id] else { return true }
    guard record.isForgettable else {
      if record.isPersisted { journal.write(.forget(id)) }
      record.isDiscarded = true
      transition(&record, &state) { $0.cancel() }
      state.records[id] = record
      return true
    }
    state.records[id] = nil
    state.forgetEnd(of: id)
    forget(record, withFile: true, &state)
    return true
  }

  private func discard(_ row: JournalRow) {
    guard let record = try? record(of: row) else { return journal.write(.forget(row.id)) }
    state.withLock { forget(record, withFile: true, &$0) }
  }
}
