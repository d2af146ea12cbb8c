internal import TransferModel

/// What the engine keeps of one transfer.
struct TransferRecord {
  var spec: TransferSpec
  /// Rises with every accepted transfer.
  var number: Int64
  let size: AdmissionQueue.Size
  let slot: ProgressSlot
  /// The slots its remote has.
  let remoteConcurrency: Int
  /// For streams: where the host's bytes meet the transfer's.
  var pipe: StreamPipe?
  var machine = TransferMachine()
  /// Whether the journal has it (or has said that it keeps nothing); before, it does not run.
  var isPersisted = false
  /// Whether the journal really has it.
  var isKept = false
  /// Whether nobody is to find it again once it has ended.
  var isDiscarded = false
  /// What an earlier process had in hand.
  @Rare var kept: RunState?
  var run: TransferRun?
  /// What it takes of the engine's room, from its start until its end or its pause is told.
  var room = Room.none
  var task: Task<Void, Never>?
  var waiters: [Waiter] = []
  /// Whether a detached request asked for it, so that nobody's going away ends it.
  var isDetached = false
  /// Whether it has ended, and what it left is still being removed or its end written down.
  var isEnding = false
  /// Whether it ended for this process only.
  var isSuspended = false
  /// Whether nobody has gone on with it for so long that nobody will.
  var isAbandoned = false
  var result: TransferResult?
  @Rare var error: TransferError?

  /// A slot while it moves bytes; after that one of the places for those that are confirmed.
  enum Room { case none, slot, confirming }

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
    switch (machine.visible, result, error) {
    case (.succeeded, let result?, _): outcome = .succeeded(result)
    case (.failed, _, let error?): outcome = .failed(error)
    case (.rejected, _, let error?): outcome = .rejected(error)
    case (.cancelled, _, let error?): outcome = .cancelled(error)
    case (.succeeded, _, _), (.failed, _, _), (.rejected, _, _), (.cancelled, _, _),
      (.queued, _, _), (.running, _, _), (.paused, _, _), (.interrupted, _, _):
      return nil
    }
    return TransferSettlement(
      id: spec.id,
      remote: spec.remote,
      outcome: outcome,
      isResumable: isResumable,
      loaded: slot.loaded,
      total: slot.total,
      attempt: machine.attempt,
      slot: slot
    )
  }

  /// Whether it has ended and that was told.
  var isForgettable: Bool { machine.visible.isSettled && !isEnding }

  /// Lets go of inline content.
  mutating func dropData() {
    guard case .downloaded(var download) = result else { return }
    download.data = nil
    result = .downloaded(download)
  }

  private var isResumable: Bool { isSuspended || machine.visible == .failed }
}
