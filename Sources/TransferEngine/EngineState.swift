internal import TransferModel

/// The engine's table of transfers and what is decided over all of them; guarded by its lock.
struct EngineState {
  /// Ended transfers that are kept until forgotten.
  static let settledLimit = 1000

  var records: [TransferID: TransferRecord] = [:]
  var queue: AdmissionQueue
  var lastNumber: Int64 = 0
  /// No queued transfer starts while the host does not read.
  var isHeld = false
  var isShuttingDown = false
  /// Queued and running transfers, and cancelled ones that are being cleaned up.
  var active = 0
  var idleWaiters: [CheckedContinuation<Void, Never>] = []
  /// Ends since the start.
  var ended: [TransferState: Int] = [:]
  private var settledOrder: [TransferID] = []

  init(concurrency: Int) { queue = AdmissionQueue(concurrency: concurrency) }

  /// A transfer is no longer queued or running.
  mutating func leaveActive() {
    active -= 1
    guard active == 0 else { return }
    for waiter in idleWaiters { waiter.resume() }
    idleWaiters.removeAll()
  }

  /// Remembers an end, and forgets the oldest ones past the limit.
  mutating func remember(settled id: TransferID, as end: TransferState) {
    ended[end, default: 0] += 1
    settledOrder.append(id)
    // Cut in steps, so that each end costs the same however many are kept.
    guard settledOrder.count > Self.settledLimit + 256 else { return }
    let surplus = settledOrder.count - Self.settledLimit
    for id in settledOrder.prefix(surplus) where records[id]?.machine.visible.isSettled == true {
      records[id] = nil
    }
    settledOrder.removeFirst(surplus)
  }
}
