internal import Glibc
internal import JSON
internal import Journal
internal import Synchronization
package import TransferModel

/// What hosts can ask and set, and how the engine comes to rest.
extension TransferEngine {
  /// How many transfers are in each state; ended ones since the start.
  package var counts: [TransferState: Int] {
    state.withLock { state in
      var counts = state.ended
      counts[.queued, default: 0] += state.parked.counts.values.reduce(0, +)
      for record in state.records.all where !record.machine.visible.isSettled {
        counts[record.machine.visible, default: 0] += 1
      }
      return counts
    }
  }

  /// Queued and running transfers of each remote.
  package var activity: [String: (queued: Int, running: Int)] {
    state.withLock { state in
      var counts: [String: (queued: Int, running: Int)] = [:]
      for (lane, count) in state.parked.counts {
        counts[lane.remote, default: (0, 0)].queued += count
      }
      for record in state.records.all {
        switch record.machine.visible {
        case .queued: counts[record.spec.remote, default: (0, 0)].queued += 1
        case .running: counts[record.spec.remote, default: (0, 0)].running += 1
        case .paused, .succeeded, .failed, .rejected, .cancelled, .interrupted: break
        }
      }
      return counts
    }
  }

  /// Everything known of a transfer.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func snapshot(of id: TransferID) throws(TransferError) -> TransferSnapshot {
    let (snapshot, isKept) = state.withLock { state in
      let snapshot = state.records.snapshot(of: id)
      let isElsewhere =
        snapshot == nil && (state.parked.number(of: id) != nil || state.shelf.contains(id))
      return (snapshot, isElsewhere)
    }
    if let snapshot { return snapshot }
    // It stays where it is: asking must not change the order.
    if isKept, let (_, kept) = snapshots(ofKept: [id]).first { return kept }
    throw .unknownTransfer(id)
  }

  /// What `write` makes of everything known of a transfer; of one that has ended it is kept until
  /// the transfer changes, for hosts that ask again and again.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func text(
    of id: TransferID,
    _ write: (TransferSnapshot) -> [UInt8]
  ) throws(TransferError) -> [UInt8] {
    switch state.withLock({ $0.records.text(of: id) }) {
    case .written(let text): return text
    case .unwritten(let snapshot, let version):
      let text = write(snapshot)
      if snapshot.state.isSettled { state.withLock { $0.records.keep(text, of: id, version) } }
      return text
    case nil: return write(try snapshot(of: id))
    }
  }

  /// Transfers in the order they were accepted, of one state, remote or batch where one is given.
  ///
  /// At most `limit`, at least 1; `next` is what the page before gave, nil for the first.
  ///
  /// - Throws: `ERR_INVALID_ARGUMENT` for a `next` that no page gave.
  package func list(
    state wanted: TransferState?,
    remote: String?,
    batch: String? = nil,
    limit: Int,
    next: String?
  ) throws(TransferError) -> TransferPage {
    let after = next == nil ? 0 : next.flatMap { Int64($0) }
    guard let after, after >= 0 else {
      throw TransferError(
        .invalidArgument,
        "next must be what an earlier page gave.",
        field: "/next"
      )
    }
    let wantedBatch = batch.map { ExactString($0) }
    let (page, kept, hasMore) = state.withLock { state in
      var places: [(number: Int64, id: TransferID)] = []
      for record in state.records.all
      where record.number > after && (wanted == nil || record.machine.visible == wanted)
        && (remote == nil || record.spec.remote == remote)
        && (wantedBatch == nil
          || wantedBatch == record.spec.batchFile.map { ExactString($0.batch) })
      {
        places.append((record.number, record.spec.id))
      }
      if wanted == nil || wanted == .queued {
        places += state.parked.all(on: remote, batch: batch).filter { $0.number > after }
      }
      places += state.shelf.all { entry in
        entry.number > after && (wanted == nil || entry.state == wanted)
          && (remote == nil || entry.remote == remote)
          && (wantedBatch == nil || wantedBatch == ExactString(entry.file.batch))
      }
      places.sort { $0.number < $1.number }
      var page: [(Int64, TransferSnapshot)] = []
      var kept: [TransferID: Int64] = [:]
      for (number, id) in places.prefix(limit) {
        if let snapshot = state.records.snapshot(of: id) {
          page.append((number, snapshot))
        } else {
          kept[id] = number
        }
      }
      return (page, kept, places.count > limit)
    }
    let others = snapshots(ofKept: Array(kept.keys)).compactMap { id, snapshot in
      kept[id].map { ($0, snapshot) }
    }
    let transfers = (page + others).sorted { $0.0 < $1.0 }
    return TransferPage(
      transfers: transfers.map(\.1),
      numbers: transfers.map(\.0),
      hasMore: hasMore
    )
  }

  /// Forgets an ended transfer and removes its temporary file.
  /// - Throws: `ERR_UNKNOWN_ID`; `ERR_INVALID_ARGUMENT` while it has not ended.
  package func forget(_ id: TransferID) throws(TransferError) {
    let result = try withLoaded(id) { state throws(TransferError) -> TransferResult? in
      guard let record = state.records[id] else { throw .unknownTransfer(id) }
      if let file = record.spec.batchFile {
        throw TransferError(
          .invalidArgument,
          "Transfer \(id) is file \(file.file) of batch \(file.batch): batch/remove it, or "
            + "batch/clear the batch.",
          field: "/transferId"
        )
      }
      guard record.machine.visible.isSettled, !record.isEnding else {
        throw TransferError(
          .invalidArgument,
          "Transfer \(id) is \(record.machine.visible.rawValue); cancel it first, then forget it.",
          field: "/transferId"
        )
      }
      state.records[id] = nil
      state.forgetEnd(of: id)
      forget(record, &state)
      return record.result
    }
    if case .downloaded(let download) = result, download.isTemporary, let path = download.path {
      unlink(path)
    }
  }

  /// Slots over all remotes.
  package var concurrency: Int { state.withLock { $0.queue.concurrency } }

  /// Changes the number of slots; running transfers go on.
  package func set(concurrency: Int) {
    state.withLock { state in
      state.queue.concurrency = concurrency
      admit(&state)
    }
  }

  /// The caps on bytes per second.
  package var uploadRate: RateLimiter { environment.uploadRate }
  /// The cap on bytes fetched per second.
  package var downloadRate: RateLimiter { environment.downloadRate }

  /// While held, no queued transfer starts; running ones go on.
  package func hold(_ isHeld: Bool) {
    state.withLock { state in
      guard state.isHeld != isHeld else { return }
      state.isHeld = isHeld
      admit(&state)
    }
  }

  /// The pipe of a stream transfer.
  /// - Throws: `ERR_UNKNOWN_ID`; `ERR_INVALID_ARGUMENT` where it is no stream of that direction.
  package func pipe(
    of id: TransferID,
    _ direction: TransferDirection
  ) throws(TransferError) -> StreamPipe {
    let record = try withLoaded(id) { state throws(TransferError) in
      guard let record = state.records[id] else { throw .unknownTransfer(id) }
      return record
    }
    guard let pipe = record.pipe, record.spec.direction == direction else {
      throw TransferError(
        .invalidArgument,
        direction == .upload
          ? "Transfer \(id) takes no stream; start it with stream: {}."
          : "Transfer \(id) gives no stream; start it with target: {\"stream\": true}.",
        field: "/transferId"
      )
    }
    return pipe
  }

  /// Refuses new work from now on.
  package func refuseNewWork() { state.withLock { $0.isShuttingDown = true } }

  /// Ends all streams that their host has not closed: it is gone.
  package func endOpenStreams() {
    state.withLock { state in
      for id in state.records.ids {
        guard var record = state.records[id], !record.machine.visible.isSettled,
          let pipe = record.pipe, !pipe.isFinished
        else { continue }
        transition(&record, &state) { $0.cancel() }
        state.records[id] = record
      }
    }
  }

  /// Ends everything that has not ended, and keeps for a later process what it can go on with.
  package func suspendAll() {
    state.withLock { state in
      state.isEnding = true
      for id in state.records.ids {
        guard var record = state.records[id], !record.machine.visible.isSettled else { continue }
        let isStream = record.spec.isStream
        transition(&record, &state) { isStream ? $0.cancel() : $0.suspend() }
        state.records[id] = record
      }
      suspendParked(&state)
    }
  }

  /// How many transfers this process has left to a later one.
  package var suspendedCount: Int {
    state.withLock { state in state.suspendedParked + state.records.all.count { $0.isSuspended } }
  }

  /// Writes the journal down and closes everything that was opened.
  package func close() async {
    await journal.close()
    await remotes.close()
  }

  /// Whether anything is queued or running.
  package var isActive: Bool { state.withLock { $0.active > 0 } }

  /// Returns when nothing is queued or running; paused transfers do not count.
  package func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        guard state.active > 0 else { return true }
        state.idleWaiters.append(continuation)
        return false
      }
      if isIdle { continuation.resume() }
    }
  }

  /// Returns when everything that has happened so far was consumed.
  package func waitUntilTold() async {
    await withCheckedContinuation { continuation in
      tell.yield(.flushed { continuation.resume() })
    }
  }
}
