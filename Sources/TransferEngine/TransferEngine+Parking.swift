internal import Dispatch
internal import JSON
internal import Journal
internal import Synchronization
package import TransferModel

/// How a request that was let go while its transfer was parked waits again; nil where it is over.
///
/// - Parameters: the engine, what `Waiter.park` returned, the transfer and its remote.
package typealias WaiterReviver =
  @Sendable (TransferEngine, _ ticket: String, TransferID, _ remote: String) -> Waiter?

/// A long queue is kept in the journal.
extension TransferEngine {
  /// So many queued transfers of a lane are kept in memory; half of them left, more are loaded.
  private static let nearLimit = 64

  /// Keeps a queued transfer in the journal alone, if many wait before it.
  ///
  /// - Returns: false where it must stay in memory.
  func park(_ record: TransferRecord, _ state: inout EngineState) -> Bool {
    let lane = record.lane
    guard record.isParkable,
      state.queue.count(lane.size, on: lane.remote, batch: lane.batch?.text) >= Self.nearLimit
        || !state.parked.isEmpty(lane)
    else { return false }
    let id = record.spec.id
    let waiter = record.waiters.first
    let ticket = waiter?.park(id)
    // Cancelled at this moment: its handler needs the record.
    if waiter != nil, ticket == nil { return false }
    let entry = ParkedTransfers.Entry(
      number: record.number,
      ticket: ticket,
      isDetached: record.isDetached,
      reportsProgress: record.spec.reportsProgress,
      announces: record.spec.announces,
      batchFile: record.spec.batchFile
    )
    state.parked.append(id, entry, to: lane)
    state.records[id] = nil
    return true
  }

  /// Loads the next transfers of lanes that soon have none in memory.
  func loadNext(_ state: inout EngineState) {
    for lane in state.parked.counts.keys {
      let near = state.queue.count(lane.size, on: lane.remote, batch: lane.batch?.text)
      guard near < Self.nearLimit / 2 else { continue }
      let ids = state.parked.startLoading(lane, limit: Self.nearLimit)
      if ids.isEmpty { continue }
      journal.rows(ids: ids) { [self] rows in
        enter(ids, rows) { state in
          state.parked.endLoading(lane)
          admit(&state)
        }
      }
    }
  }

  /// Brings a transfer that is in the journal alone back into memory; blocks the calling thread
  /// while the journal reads.
  ///
  /// Not to be called on the journal's thread.
  package func load(_ id: TransferID) {
    let isDone = DispatchSemaphore(value: 0)
    if state.withLock({ $0.parked.number(of: id) != nil }) {
      journal.rows(ids: [id]) { [self] rows in
        enter([id], rows) { _ in }
        isDone.signal()
      }
    } else if state.withLock({ $0.shelf.contains(id) }) {
      journal.rows(ids: [id]) { [self] rows in
        unshelve(id, rows.first)
        isDone.signal()
      }
    } else {
      return
    }
    isDone.wait()
  }

  /// Takes a batch's transfer from the shelf; without a row it is gone.
  private func unshelve(_ id: TransferID, _ row: JournalRow?) {
    let loaded = row.flatMap { try? record(of: $0) }
    state.withLock { state in
      guard let entry = state.shelf.remove(id), var record = loaded else { return }
      record.number = entry.number
      state.records[id] = record
      if record.machine.visible.isSettled {
        letGo(state.remember(settled: id, as: nil), &state)
      }
    }
  }

  /// Looks at a transfer, or changes it, in memory; blocks the calling thread as `load` does.
  func withLoaded<Value>(
    _ id: TransferID,
    _ body: (inout EngineState) throws(TransferError) -> Value
  ) throws(TransferError) -> Value {
    while true {
      let value = try state.withLock { state throws(TransferError) -> Value? in
        if state.parked.number(of: id) != nil || state.shelf.contains(id) { return nil }
        return try body(&state)
      }
      if let value { return value }
      load(id)
    }
  }

  /// Suspends all that is parked; a later process finds the rows.
  func suspendParked(_ state: inout EngineState) {
    for (id, entry, lane) in state.parked.removeAll() {
      state.suspendedParked += 1
      end(id, entry, lane, .cancelled(.suspended(announces: entry.announces)), &state)
    }
  }

  /// What the journal says of transfers that it alone keeps.
  ///
  /// Blocks the calling thread while the journal reads.
  func snapshots(ofKept ids: [TransferID]) -> [(TransferID, TransferSnapshot)] {
    if ids.isEmpty { return [] }
    let found = Mutex<[JournalRow]>([])
    let isDone = DispatchSemaphore(value: 0)
    // Both outlive the call: it waits for them.
    withExtendedLifetime(found) {
      journal.rows(ids: ids) { rows in
        found.withLock { $0 = rows }
        isDone.signal()
      }
      isDone.wait()
    }
    return found.withLock { $0 }.compactMap { row in snapshot(of: row).map { (row.id, $0) } }
  }

  /// Enters transfers that were loaded; one whose row is gone has failed.
  private func enter(
    _ ids: [TransferID],
    _ rows: [JournalRow],
    _ then: (inout EngineState) -> Void
  ) {
    let records = rows.compactMap { try? record(of: $0) }
    state.withLock { state in
      for record in records { enter(record, &state) }
      let missing = Set(ids).subtracting(records.map(\.spec.id))
      if !missing.isEmpty { lose(missing, &state) }
      then(&state)
    }
  }

  private func enter(_ loaded: TransferRecord, _ state: inout EngineState) {
    var record = loaded
    let id = record.spec.id
    guard let entry = state.parked.remove(id, number: record.number) else { return }
    record.machine = TransferMachine()
    record.kept = nil
    record.isDetached = entry.isDetached
    record.spec.reportsProgress = entry.reportsProgress
    record.waiters = [waiter(of: entry, id, on: record.spec.remote)].compactMap { $0 }
    state.records[id] = record
    enqueue(record, &state)
  }

  /// Tells the end of transfers that the journal has lost, with what they were to do.
  private func lose(_ ids: Set<TransferID>, _ state: inout EngineState) {
    let error = TransferError(
      .unknown,
      "The journal in stateDir was damaged or removed while the transfer was queued; send it again."
    )
    for (id, entry, lane) in state.parked.removeAll(ids) {
      end(id, entry, lane, .failed(error), &state)
    }
  }

  /// Tells an end without the record.
  private func end(
    _ id: TransferID,
    _ entry: ParkedTransfers.Entry,
    _ lane: ParkedTransfers.Lane,
    _ outcome: TransferSettlement.Outcome,
    _ state: inout EngineState
  ) {
    var isResumable = false
    var end = TransferState.failed
    if case .cancelled = outcome { (isResumable, end) = (true, .cancelled) }
    let settlement = TransferSettlement(
      id: id,
      remote: lane.remote,
      outcome: outcome,
      isResumable: isResumable,
      loaded: 0,
      total: nil,
      attempt: 1,
      slot: ProgressSlot(id: id, direction: .upload, total: nil, batchFile: entry.batchFile)
    )
    tell.yield(.settled(settlement, [waiter(of: entry, id, on: lane.remote)].compactMap { $0 }))
    state.count(ended: end)
    state.leaveActive()
  }

  private func waiter(
    of entry: ParkedTransfers.Entry,
    _ id: TransferID,
    on remote: String
  ) -> Waiter? {
    entry.ticket.flatMap { revive(self, $0, id, remote) }
  }
}

extension TransferRecord {
  /// Where it waits.
  var lane: ParkedTransfers.Lane {
    .init(
      remote: spec.remote,
      batch: spec.batchFile.map { ExactString($0.batch) },
      size: size
    )
  }

  /// Whether the journal's row, and what an `Entry` has, is all there is to it.
  fileprivate var isParkable: Bool {
    machine.state == .queued(attempt: 1, begun: false) && waiters.count <= 1 && pipe == nil
      && kept == nil && run == nil && !spec.hasCipherKey
  }
}
