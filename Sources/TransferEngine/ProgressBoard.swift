package import Synchronization
package import TransferModel

/// Where running transfers say how far they are: one slot each, the newest value wins.
package final class ProgressBoard: Sendable {
  private let slots = Mutex<[TransferID: ProgressSlot]>([:])

  /// An empty board.
  package init() {}

  /// The slots of running transfers that want to be reported, in no order.
  package var active: [ProgressSlot] { slots.withLock { Array($0.values) } }

  func add(_ slot: ProgressSlot) { slots.withLock { $0[slot.id] = slot } }

  func remove(_ id: TransferID) { _ = slots.withLock { $0.removeValue(forKey: id) } }
}

/// How far one transfer is.
package final class ProgressSlot: Sendable {
  package let id: TransferID
  package let direction: TransferDirection
  /// The batch it is part of.
  package let batchFile: BatchFile?
  private let loadedBytes = Atomic<Int64>(0)
  /// -1 while unknown.
  private let totalBytes: Atomic<Int64>
  private let attemptNumber = Atomic<Int>(1)
  private let isOpenFlag = Atomic<Bool>(false)
  /// What its reporter last told; kept here so that it goes when the transfer does.
  package let reported = Mutex(Reported(loaded: 0, at: .now, attempt: 0))

  /// What was told last, for rates and so that nothing is told twice.
  package struct Reported: Sendable {
    /// Bytes.
    package var loaded: Int64
    /// When it was told.
    package var at: ContinuousClock.Instant
    /// The attempt the numbers belong to; 0 before any.
    package var attempt: Int
    /// Whether any of this attempt was told.
    package var isTold = false
    /// What was told as the total.
    package var total: Int64?
    /// Smoothed, bytes per second.
    package var rate: Double = 0

    /// Nothing told of an attempt yet.
    package init(loaded: Int64, at: ContinuousClock.Instant, attempt: Int) {
      self.loaded = loaded
      self.at = at
      self.attempt = attempt
    }
  }

  init(
    id: TransferID,
    direction: TransferDirection,
    total: Int64?,
    batchFile: BatchFile? = nil
  ) {
    self.id = id
    self.batchFile = batchFile
    self.direction = direction
    totalBytes = Atomic(total ?? -1)
  }

  /// Whether progress may be told now.
  ///
  /// So it is after the event that the transfer runs and before the one that it does not. Set by whoever tells those events, which may come later than they happen.
  package var isOpen: Bool { isOpenFlag.load(ordering: .acquiring) }

  /// Lets progress be told, or not.
  package func set(isOpen: Bool) { isOpenFlag.store(isOpen, ordering: .releasing) }

  /// Bytes moved in this attempt; never falls within one.
  package var loaded: Int64 { loadedBytes.load(ordering: .relaxed) }

  /// Bytes in all; nil while unknown.
  package var total: Int64? {
    let total = totalBytes.load(ordering: .relaxed)
    return total < 0 ? nil : total
  }

  /// The attempt the numbers belong to.
  package var attempt: Int { attemptNumber.load(ordering: .relaxed) }

  func set(loaded: Int64) { loadedBytes.store(loaded, ordering: .relaxed) }

  func set(total: Int64) { totalBytes.store(total, ordering: .relaxed) }

  func begin(attempt: Int) { attemptNumber.store(attempt, ordering: .relaxed) }
}
