internal import JSON
internal import Synchronization
internal import TransferEngine
internal import TransferModel

/// What happens to the transfers of batches.
extension Batches {
  /// The most files that `complete` names.
  private static let reportLimit = 1000

  /// Passes a change on, with what it means for a batch; the one consumer of the engine's changes
  /// calls it in their order.
  func forward(_ change: TransferChange) async {
    switch change {
    case .started(let slot, _, _):
      moved(slot, to: .running, change)
    case .paused(let slot, _):
      moved(slot, to: .paused, change)
    case .resumed(let slot, _):
      moved(slot, to: .queued, change)
    case .settled(let settlement, _):
      await settled(settlement, change)
    case .batch(let id):
      // An earlier process's files were found while this one ran.
      if id.isEmpty { await restore() } else { await completeIfDone(id) }
    case .accepted, .joined, .withdrawn, .flushed:
      tell.yield(.transfer(change))
    }
  }

  private func moved(_ slot: ProgressSlot, to state: TransferState, _ change: TransferChange) {
    if let file = slot.batchFile {
      let isThere = self.state.withLock { batches in
        guard batches[file.batch]?.has(slot.id, as: file.file) == true else { return false }
        batches[file.batch]?.moved(file.file, to: state)
        return true
      }
      guard isThere else { return }
    }
    tell.yield(.transfer(change))
  }

  private func settled(_ settlement: TransferSettlement, _ change: TransferChange) async {
    guard let file = settlement.slot.batchFile else {
      tell.yield(.transfer(change))
      return
    }
    let wait = state.withLock { batches -> Int?? in
      guard batches[file.batch]?.has(settlement.id, as: file.file) == true else { return nil }
      return .some(batches[file.batch]?.settled(file.file, settlement) ?? nil)
    }
    guard let wait else { return dropped(settlement) }
    tell.yield(.transfer(change))
    if let attempt = wait { retryLater(settlement.id, file, attempt: attempt) }
    await completeIfDone(file.batch)
  }

  /// A file that was removed while it moved has stopped; what was stored in the last moment goes.
  private func dropped(_ settlement: TransferSettlement) {
    guard case .succeeded(let result) = settlement.outcome else { return }
    delete([(settlement.remote, result)])
  }

  /// Tries a file again once a moment has passed, twice as long each time and never the same for
  /// all.
  private func retryLater(_ transfer: TransferID, _ file: BatchFile, attempt: Int) {
    let longest = 500 << min(attempt, 6)
    let wait = Duration.milliseconds(Int.random(in: longest / 2...longest))
    // Ends with the wait; a batch that is cleared meanwhile has no such file.
    Task {
      try? await Task.sleep(for: wait)
      let isDue = state.withLock { batches in
        guard batches[file.batch]?.has(transfer, as: file.file) == true else { return false }
        return batches[file.batch]?.retry(file.file, isAsked: false) != nil
      }
      if isDue { retry(transfer, as: file.file, in: file.batch) }
    }
  }

  private func completeIfDone(_ id: String) async {
    let found = state.withLock {
      batches -> ([TransferState: Int], [(Batch.File, TransferError?)])? in
      guard batches[id]?.becomesComplete() == true, let batch = batches[id] else { return nil }
      let files = batch.all.prefix(Self.reportLimit).map { ($0, batch.refusals[$0.id]) }
      return (batch.counts, Array(files))
    }
    guard let (counts, files) = found else { return }
    let entries = await entries(of: files)
    tell.yield(.batch(.completed(BatchCompletion(id: id, counts: counts, files: entries))))
  }

  /// Files with what is known of their transfers.
  func entries(of files: [(Batch.File, refusal: TransferError?)]) async -> [BatchEntry] {
    let snapshots = await engine.snapshots(of: files.map(\.0.transfer))
    return files.map { file, refusal in
      BatchEntry(
        id: file.id,
        transfer: file.transfer,
        place: file.place,
        state: file.state,
        kind: file.kind,
        isSent: file.isSent,
        isInDoubt: file.isInDoubt && !file.isSending,
        snapshot: snapshots[file.transfer],
        refusal: refusal
      )
    }
  }
}

extension Batch {
  /// A file's transfer has ended.
  /// - Returns: how often it was tried again already, where it is to be tried again unasked.
  fileprivate mutating func settled(_ id: String, _ settlement: TransferSettlement) -> Int? {
    switch settlement.outcome {
    case .succeeded: moved(id, to: .succeeded)
    case .rejected:
      refuse(id)
      moved(id, to: .rejected)
    // The process ends, and a later one goes on: that is no end for the batch.
    case .cancelled: suspended(id)
    case .failed(let error):
      if failed(id, isRetryable: error.isRetryable) { return self[id]?.retries }
    }
    return nil
  }
}
