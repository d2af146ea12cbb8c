internal import Journal
internal import LocalFiles
internal import Synchronization
package import TransferModel

/// How a request that an earlier process took in is read again.
///
/// - Parameters: the request, its id, and where its relative paths start. `data` and `text` are no
///   part of it; an upload that had them comes back with no bytes.
package typealias SpecDecoder =
  @Sendable (_ origin: TransferOrigin, _ id: TransferID, _ root: String)
  throws(TransferError) -> TransferSpec

/// What outlives the process.
extension TransferEngine {
  /// Content of a request up to so many bytes is kept in its row, more in a file of its own.
  private static let payloadLimit = 4 << 10

  /// Takes up what earlier processes of the same state left, beside what is known already.
  package func restore() async {
    let patience = remotes.patienceWithUploads
    var cursor = JournalCursor.start
    while true {
      let page = await journal.page(after: cursor, limit: 500)
      state.withLock { state in
        for row in page.rows { restore(row, patience, &state) }
      }
      guard let next = page.next else { break }
      cursor = next
    }
    let last = await journal.lastNumber()
    state.withLock { $0.lastNumber = max($0.lastNumber, last) }
  }

  /// Puts a row of an earlier process among the transfers.
  ///
  /// An upload that waits for longer than its remote's patience is abandoned, since its parts are
  /// stored, and paid for, until somebody removes them.
  private func restore(
    _ row: JournalRow,
    _ patience: [String: Int64],
    _ state: inout EngineState
  ) {
    // A remote that this configuration lacks may be there again in the next one.
    guard state.records[row.id] == nil, state.parked.number(of: row.id) == nil,
      !state.shelf.contains(row.id),
      (try? remotes.limits(of: row.remote)) != nil
    else { return }
    var record: TransferRecord
    do {
      record = try self.record(of: row)
    } catch let error as TransferError where error.code != .invalidArgument {
      // Its remote cannot be opened now, or is another one by now: a later process may know it again.
      return
    } catch {
      // A request this version cannot read: nobody could resume it either.
      return journal.write(.forget(row.id))
    }
    if row.isRemains { return remove(makeRun(&record), of: row, &state) }
    // Processes that ran at the same time gave the same numbers.
    state.lastNumber = max(state.lastNumber + 1, row.number)
    record.number = state.lastNumber
    if row.direction == .upload, let patience = patience[row.remote],
      row.updatedMs < RemoteLink.nowMs - patience
    {
      abandon(&record, &state)
    }
    if let file = record.spec.batchFile {
      state.restoredFiles.append(RestoredFile(record, file))
      return shelve(record, as: file, &state)
    }
    state.records[row.id] = record
    if row.state.isSettled { letGo(state.remember(settled: row.id, as: nil), &state) }
  }

  /// The transfer of a row, as an earlier process left it.
  /// - Throws: `ERR_INVALID_ARGUMENT` and errors of JSON where it cannot be read; what its remote does
  ///   not take.
  func record(of row: JournalRow) throws -> TransferRecord {
    let kept = try row.progress.map { bytes in try RunState(decoding: bytes) }
    let ending = try row.snapshot.map { bytes in try SnapshotCodec.decode(bytes) }
    var spec = try decode(row.origin, row.id, kept?.root ?? "/")
    // The default remote may be another one by now.
    spec.remote = row.remote
    if let payload = row.payload { spec = spec.reading(from: .bytes(payload)) }
    if let spool = row.spool { spec = spec.reading(from: .spool(path: spool)) }
    let slot = ProgressSlot(
      id: row.id,
      direction: row.direction,
      total: row.total,
      batchFile: spec.batchFile
    )
    slot.set(loaded: row.loaded)
    let pipe = spec.isStream ? StreamPipe() : nil
    pipe?.fail(
      TransferError(
        .fileChanged,
        "The stream ended with the process it belonged to; start it anew."
      )
    )
    var record = TransferRecord(
      spec: spec,
      number: row.number,
      size: AdmissionQueue.size(ofBytes: row.total, isHosted: spec.isStream),
      slot: slot,
      remoteConcurrency: try remotes.concurrency(of: spec.remote),
      pipe: pipe
    )
    record.machine = TransferMachine(restoring: row.state, attempt: row.attempt)
    record.isPersisted = true
    record.isKept = true
    record.kept = kept
    record.result = ending?.result
    record.error = ending?.error
    return record
  }

  /// Writes a new transfer down and queues it when that is done.
  ///
  /// Only an id that the host chose can be another process's.
  func persist(_ record: TransferRecord, isChosen: Bool) {
    let id = record.spec.id
    guard isChosen else { return write(record) }
    journal.find(id) { [self] finding in
      switch finding {
      case .unknown: write(record)
      case .row, .heldByAnother: adopt(record)
      }
    }
  }

  /// A process that is ending still has the id: waits for it, then goes on with what it left.
  private func adopt(_ record: TransferRecord) {
    let id = record.spec.id
    // Ends within the patience; nothing waits for it but the transfer itself.
    Task {
      let finding = await journal.find(id, patience: .seconds(2))
      switch finding {
      case .unknown:
        return write(record)
      case .row(let row):
        state.withLock { state in
          if let old = try? self.record(of: row) {
            merge(old, &state)
          } else {
            persisted(id, isKept: false, &state)
          }
        }
        // What else that process left.
        await restore()
        tell.yield(.batch(""))
      case .heldByAnother:
        state.withLock { state in
          guard var record = state.records[id], !record.machine.visible.isSettled else { return }
          record.error = .heldElsewhere(id)
          transition(&record, &state) { $0.reject() }
          state.records[id] = record
        }
      }
    }
  }

  /// Goes on with what an earlier process left of a transfer that was just taken in.
  private func merge(_ old: TransferRecord, _ state: inout EngineState) {
    let id = old.spec.id
    state.written(id, isKept: true)
    guard var new = state.records[id] else { return journal.write(.forget(id)) }
    var refused = new
    refused.error = .duplicate(id)
    _ = refused.machine.reject()
    let isSame = old.spec.origin == new.spec.origin
    if !new.machine.visible.isSettled,
      let settlement = isSame ? old.settlement : refused.settlement
    {
      for waiter in new.waiters {
        let isAccepted = isSame && waiter.isDetached
        tell.yield(isAccepted ? .accepted(id, waiter) : .joined(settlement, waiter))
      }
      if new.machine.isActive { state.leaveActive() }
      (new, new.number) = (old, new.number)
      state.records[id] = new
      if old.machine.visible.isSettled { letGo(state.remember(settled: id, as: nil), &state) }
      return
    }
    new.kept = old.kept
    new.machine.follow(attempt: old.machine.attempt)
    if new.machine.visible.isSettled {
      // Cancelled meanwhile: so is what was left of it.
      remove(makeRun(&new), of: new, withFile: true, &state)
    }
    state.records[id] = new
    persisted(id, isKept: true, &state)
  }

  private func write(_ record: TransferRecord) {
    var row = row(of: record)
    guard case .bytes(let bytes) = record.spec.source else { return write(row) }
    guard bytes.count > Self.payloadLimit else {
      row.payload = bytes
      return write(row)
    }
    // Ends with the row written.
    Task(executorPreference: pool) { [self, row] in
      var row = row
      do throws(TransferError) {
        let spool = try await journal.makeSpool()
        try spool.write(bytes, at: 0)
        row.spool = spool.path
        let spec = record.spec.reading(from: .spool(path: spool.path))
        let isKnown = state.withLock { state in
          state.records[spec.id]?.spec = spec
          return state.records[spec.id] != nil
        }
        if !isKnown { return spool.remove() }
      } catch {
        // Without a spool the bytes stay in memory, and the transfer in this process.
      }
      write(row)
    }
  }

  /// The row of a transfer that was just taken in, without the bytes its request brought.
  func row(of record: TransferRecord) -> JournalRow {
    let spec = record.spec
    var row = JournalRow(
      id: spec.id,
      number: record.number,
      origin: spec.origin,
      remote: spec.remote,
      direction: spec.direction,
      total: record.slot.total
    )
    row.progress = RunState(root: spec.root).encoded
    return row
  }

  private func write(_ row: JournalRow) {
    journal.write([.add(row)]) { [self] isKept in
      state.withLock { state in persisted(row.id, isKept: isKept, &state) }
    }
  }

  /// A transfer is written down: it is told to whoever wanted only that, and may run.
  private func persisted(_ id: TransferID, isKept: Bool, _ state: inout EngineState) {
    state.written(id, isKept: isKept)
    guard var record = state.records[id] else { return journal.write(.forget(id)) }
    record.isPersisted = true
    record.isKept = isKept
    // One that ended before its row was there has its end written after it.
    if record.machine.visible.isSettled {
      state.noLongerCounts(id)
      if !record.isSuspended { persistEnd(of: record) }
    }
    acceptDetached(&record)
    state.records[id] = record
    if record.machine.visible == .queued, !(isKept && park(record, &state)) {
      enqueue(record, &state)
    }
    admit(&state)
  }

  /// Writes down that a transfer is being tried again, by this process.
  func persistAttempt(of record: TransferRecord) {
    var update = JournalUpdate()
    update.state = .running
    update.attempt = record.machine.attempt
    update.snapshot = .some(nil)
    journal.write(.update(record.spec.id, update))
  }

  /// Writes down how a transfer ended, with the row of what it leaves on its remote, then calls back
  /// on the journal's thread.
  func persistEnd(
    of record: TransferRecord,
    leaving remains: JournalRow? = nil,
    then: @escaping @Sendable () -> Void = {}
  ) {
    let end = record.machine.visible
    var update = JournalUpdate()
    update.state = end
    update.attempt = record.machine.attempt
    update.loaded = record.slot.loaded
    update.total = .some(record.slot.total)
    update.snapshot = SnapshotCodec.encode(.init(result: record.result, error: record.error))
    if end != .failed {
      // What a retry would need goes with the last chance of one.
      update.progress = .some(nil)
      update.payload = .some(nil)
      update.spool = .some(nil)
    }
    let changes: [JournalChange] =
      [.update(record.spec.id, update)] + (remains.map { [.add($0)] } ?? [])
    write(changes, of: record, endsSpool: end != .failed, then: then)
  }

  /// Drops the oldest ended transfers; of those of batches only what is in memory.
  func letGo(_ records: [TransferRecord], _ state: inout EngineState) {
    for record in records {
      guard let file = record.spec.batchFile else {
        forget(record, &state)
        continue
      }
      // What the journal could not keep stays here, or nobody would have it.
      if record.isKept {
        shelve(record, as: file, &state)
      } else {
        state.records[record.spec.id] = record
      }
    }
  }

  /// Writes changes down; a spool goes once no row names it, or a kill between would leave a
  /// transfer without its content.
  func write(
    _ changes: [JournalChange],
    of record: TransferRecord,
    endsSpool: Bool,
    then: @escaping @Sendable () -> Void
  ) {
    let source = record.spec.source
    journal.write(changes) { _ in
      if endsSpool, case .spool(let path) = source { SpoolFile.remove(path) }
      then()
    }
  }

  /// Keeps what a run has in hand for a later process.
  func remember(_ runState: RunState, of id: TransferID, awaited: Bool) async {
    var update = JournalUpdate()
    update.progress = runState.encoded
    if awaited {
      await journal.write([.update(id, update)])
    } else {
      journal.write(.update(id, update))
    }
  }
}
