internal import TransferModel

/// What the engine keeps of one transfer.
struct TransferRecord {
  let spec: TransferSpec
  /// Rises with every accepted transfer.
  let number: Int64
  let size: AdmissionQueue.Size
  let slot: ProgressSlot
  /// The slots its remote has.
  let remoteConcurrency: Int
  /// For streams: where the host's bytes meet the transfer's.
  let pipe: StreamPipe?
  var machine = TransferMachine()
  var run: TransferRun?
  var task: Task<Void, Never>?
  var waiters: [Waiter] = []
  /// Whether a detached request asked for it, so that nobody's going away ends it.
  var isDetached = false
  var result: TransferResult?
  var error: TransferError?

  var snapshot: TransferSnapshot {
    TransferSnapshot(
      spec: spec,
      state: machine.visible,
      loaded: slot.loaded,
      total: slot.total,
      attempt: machine.attempt,
      error: error,
      result: result
    )
  }

  /// How it ended; nil while it has not.
  var settlement: TransferSettlement? {
    let outcome: TransferSettlement.Outcome
    switch machine.visible {
    case .succeeded:
      guard let result else { return nil }
      outcome = .succeeded(result)
    case .failed:
      guard let error else { return nil }
      outcome = .failed(error)
    case .rejected:
      guard let error else { return nil }
      outcome = .rejected(error)
    case .cancelled:
      guard let error else { return nil }
      outcome = .cancelled(error)
    case .queued, .running, .paused, .interrupted:
      return nil
    }
    return TransferSettlement(
      id: spec.id,
      remote: spec.remote,
      outcome: outcome,
      loaded: slot.loaded,
      total: slot.total,
      attempt: machine.attempt,
      slot: slot
    )
  }
}
