internal import Dispatch
internal import TransferModel

/// The engine's table of transfers and what is decided over all of them; guarded by its lock.
struct EngineState {
  /// Runs that may wait for a confirmation without holding a slot: enough that a remote can confirm
  /// many together, few enough for the descriptors they hold.
  ///
  /// Fewer beside many slots: each of both may have two files open, and shells allow 256.
  static func confirmingLimit(beside concurrency: Int) -> Int { min(64, max(8, 72 - concurrency)) }

  /// Bytes of inline content that are kept of ended transfers.
  static let inlineLimit = 4 << 20

  /// Ended transfers that are kept until forgotten.
  static let settledLimit = 1000

  /// Unwritten transfers beyond which a request waits: their records are in memory twice.
  static let unwrittenLimit = 256

  /// Transfers that the journal does not keep, beyond which requests are refused.
  static let unkeptLimit = 2048

  var records = RecordTable()
  /// Queued transfers that are no records now.
  var parked = ParkedTransfers()
  /// Ended transfers of batches that are no records now.
  var shelf = Shelf()
  /// Files of batches that earlier processes left and that nobody has asked for yet.
  var restoredFiles: [RestoredFile] = []
  /// How many of `parked` were left to a later process.
  var suspendedParked = 0
  /// New transfers that are not yet written down.
  private var unwritten: Set<TransferID> = []
  /// Transfers whose end has not come and which the journal could not keep.
  private var unkept: Set<TransferID> = []
  /// The reader, while it waits for room or has waited in vain.
  private var roomWaiter: DispatchSemaphore?
  var queue: AdmissionQueue
  var lastNumber: Int64 = 0
  /// No queued transfer starts while the host does not read.
  var isHeld = false
  var isShuttingDown = false
  /// Nothing starts any more.
  var isEnding = false
  /// Queued and running transfers, and ended ones that are being cleaned up.
  var active = 0
  /// Runs that have moved all their bytes and wait for the remote to confirm.
  var confirming = 0
  var idleWaiters: [CheckedContinuation<Void, Never>] = []
  /// Ends since the start.
  var ended: [TransferState: Int] = [:]
  private var inlineData: [(id: TransferID, bytes: Int)] = []
  private var inlineBytes = 0
  private var settledOrder: [(id: TransferID, number: Int)] = []
  /// The number of each one's last end; what is tried again and ends again is new.
  private var lastEnds: [TransferID: Int] = [:]
  private var endNumber = 0

  init(concurrency: Int) { queue = AdmissionQueue(concurrency: concurrency) }

  /// The record of a transfer that is taken in; `total` in bytes, nil while unknown.
  mutating func newRecord(
    _ spec: TransferSpec,
    total: Int64?,
    concurrency: Int
  ) -> TransferRecord {
    lastNumber += 1
    return TransferRecord(
      spec: spec,
      number: lastNumber,
      size: AdmissionQueue.size(ofBytes: total, isHosted: spec.isStream),
      slot: ProgressSlot(
        id: spec.id,
        direction: spec.direction,
        total: total,
        batchFile: spec.batchFile
      ),
      remoteConcurrency: concurrency,
      pipe: spec.isStream ? StreamPipe() : nil
    )
  }

  /// Whether a new transfer may be taken in.
  enum Room {
    case some, none
    /// When this is signalled, or never.
    case later(DispatchSemaphore)
  }

  mutating func findRoom() -> Room {
    if unkept.count >= Self.unkeptLimit { return .none }
    if unwritten.count < Self.unwrittenLimit { return .some }
    // One has waited in vain; until there is room nobody else does.
    if roomWaiter != nil { return .none }
    let waiter = DispatchSemaphore(value: 0)
    roomWaiter = waiter
    return .later(waiter)
  }

  /// A new transfer is to be written down.
  mutating func expect(_ id: TransferID) { unwritten.insert(id) }

  /// A new transfer was written down, or the journal has said that it keeps nothing.
  mutating func written(_ id: TransferID, isKept: Bool) {
    unwritten.remove(id)
    if !isKept { unkept.insert(id) }
    guard unwritten.count <= Self.unwrittenLimit / 2, let waiter = roomWaiter else { return }
    roomWaiter = nil
    waiter.signal()
  }

  /// A transfer has ended, wherever it was written.
  mutating func noLongerCounts(_ id: TransferID) {
    written(id, isKept: true)
    unkept.remove(id)
  }

  /// A transfer is no longer queued or running.
  mutating func leaveActive() {
    active -= 1
    guard active == 0 else { return }
    for waiter in idleWaiters { waiter.resume() }
    idleWaiters.removeAll()
  }

  /// Counts an end that is not kept here, since a later process has it.
  mutating func count(ended end: TransferState) { ended[end, default: 0] += 1 }

  /// Keeps inline content of ended transfers for requests that join late, the newest first, up to
  /// a bound.
  mutating func keepData(of id: TransferID, _ bytes: Int) {
    inlineData.append((id, bytes))
    inlineBytes += bytes
    while inlineBytes > Self.inlineLimit, let (oldest, size) = inlineData.first {
      inlineData.removeFirst()
      inlineBytes -= size
      records[oldest]?.dropData()
    }
  }

  /// An end is over: the transfer is tried again, or gone.
  mutating func forgetEnd(of id: TransferID) { lastEnds[id] = nil }

  /// Remembers an end (nil: of an earlier process), and drops the oldest past the limit.
  /// - Returns: what was dropped.
  mutating func remember(settled id: TransferID, as end: TransferState?) -> [TransferRecord] {
    if let end { ended[end, default: 0] += 1 }
    endNumber += 1
    settledOrder.append((id, endNumber))
    lastEnds[id] = endNumber
    // Cut in steps, so that each end costs the same however many are kept.
    guard settledOrder.count > Self.settledLimit + 128 else { return [] }
    settledOrder.removeAll { lastEnds[$0.id] != $0.number }
    let surplus = settledOrder.count - Self.settledLimit
    guard surplus > 0 else { return [] }
    var dropped: [TransferRecord] = []
    for (id, _) in settledOrder.prefix(surplus) {
      lastEnds[id] = nil
      guard records[id]?.isForgettable == true else { continue }
      if let record = records.remove(id) { dropped.append(record) }
    }
    settledOrder.removeFirst(surplus)
    return dropped
  }
}
