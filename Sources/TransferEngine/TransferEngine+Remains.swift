internal import Crypto
internal import Journal
internal import Synchronization
internal import TransferModel

/// What becomes of what transfers leave that nobody goes on with.
extension TransferEngine {
  /// How often a remote is asked to remove something: a month at the least, by `pause`.
  private static let mostRemovals = 40

  /// Removes what an earlier process had sent of an upload that nobody goes on with; one that failed,
  /// or is a batch's, begins anew when somebody does.
  func abandon(_ record: inout TransferRecord, _ state: inout EngineState) {
    switch record.machine.visible {
    case .interrupted where record.spec.batchFile == nil:
      record.isAbandoned = true
      transition(&record, &state) { $0.cancel() }
    case .interrupted where record.kept?.checkpoint != nil,
      .failed where record.kept?.checkpoint != nil && record.error?.fileUploaded != true:
      var update = JournalUpdate()
      update.progress = RunState(root: record.spec.root).encoded
      remove(
        makeRun(&record),
        of: record,
        withFile: record.machine.visible == .interrupted,
        writing: [.update(record.spec.id, update)],
        &state
      )
    case .interrupted, .failed, .queued, .running, .paused, .succeeded, .rejected, .cancelled:
      break
    }
  }

  /// Drops an ended transfer from the journal, with what its request brought and what a retry could
  /// have gone on with.
  func forget(_ record: TransferRecord, withFile: Bool = false, _ state: inout EngineState) {
    write([.forget(record.spec.id)], of: record, endsSpool: true) {}
    guard record.machine.visible != .succeeded else { return }
    var record = record
    if let run = record.run ?? (record.kept == nil ? nil : makeRun(&record)) {
      remove(run, of: record, withFile: withFile, &state)
    }
  }

  /// Removes what a run has left, when nobody will go on with it; a row of its own stays until the
  /// remote has removed its share, so that a later start tries that again.
  func remove(
    _ run: TransferRun,
    of record: TransferRecord,
    withFile: Bool,
    writing changes: [JournalChange] = [],
    _ state: inout EngineState
  ) {
    // Until then the engine is not idle, or the process could end before the row is written.
    state.active += 1
    Task(executorPreference: pool) { [self] in
      let row = await remains(of: run, record)
      // Together: after a kill one of them knows of it.
      await journal.write((row.map { [.add($0)] } ?? []) + changes)
      let isClean = await run.abandon(withFile: withFile)
      if let row, isClean { journal.write(.forget(row.id)) }
      self.state.withLock { $0.leaveActive() }
    }
  }

  /// The row of what is still on the remote; nil where nothing is.
  func remains(of run: TransferRun, _ record: TransferRecord) async -> JournalRow? {
    guard let remains = await run.remains, let id = TransferID(RandomID.make()) else { return nil }
    var row = row(of: record)
    row.id = id
    row.state = .cancelled
    row.progress = remains.encoded
    return row
  }

  /// Tries again to remove what an earlier process could not, after ever longer pauses and not for
  /// ever: some keys may not.
  func remove(_ run: TransferRun, of row: JournalRow, _ state: inout EngineState) {
    let isDue = row.updatedMs + Self.pauseMs(afterRemoval: row.attempt) <= RemoteLink.nowMs
    guard isDue else { return }
    // Until then the engine is not idle, or the process could end before it is written that this was
    // tried.
    state.active += 1
    Task(executorPreference: pool) { [self] in
      let isClean = await run.cleanUp()
      if isClean || row.attempt >= Self.mostRemovals {
        journal.write(.forget(row.id))
      } else {
        var update = JournalUpdate()
        update.attempt = row.attempt + 1
        journal.write(.update(row.id, update))
      }
      self.state.withLock { $0.leaveActive() }
    }
  }

  /// None after the first, by the process that left it; then 1 min, 3 min, 7 min … up to a day.
  private static func pauseMs(afterRemoval attempt: Int) -> Int64 {
    min(86_400_000, 60_000 * (1 << Int64(attempt - 1) - 1))
  }
}

extension JournalRow {
  /// Whether it is of what a transfer has left on its remote, and of no transfer: those that have
  /// ended say how.
  var isRemains: Bool { state.isSettled && snapshot == nil }
}
