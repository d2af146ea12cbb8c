internal import JSON
internal import TransferModel

/// Queued transfers whose record is in the journal alone, first in, first out; a value without I/O.
///
/// Thousands may wait here, so each is a few dozen bytes.
struct ParkedTransfers {
  /// Those that wait for the same kind of slot.
  struct Lane: Hashable {
    var remote: String
    var batch: ExactString?
    var size: AdmissionQueue.Size
  }

  /// What the journal's row of a transfer does not tell.
  struct Entry {
    /// The row's.
    var number: Int64
    /// What the request is revived by that waits for it, if one does.
    var ticket: String?
    var isDetached: Bool
    var reportsProgress: Bool
    var announces: Bool
    var batchFile: BatchFile?
  }

  private struct Queue {
    var entries: [TransferID: Entry] = [:]
    /// In the order of their turns; those that are gone are skipped.
    var turns = Line<TransferID>()
    var isLoading = false
  }

  private var queues: [Lane: Queue] = [:]

  /// How many there are in each lane.
  var counts: [Lane: Int] { queues.mapValues(\.entries.count) }

  func isEmpty(_ lane: Lane) -> Bool { queues[lane]?.entries.isEmpty ?? true }

  /// The number of a transfer; nil where it is not parked.
  func number(of id: TransferID) -> Int64? {
    for queue in queues.values {
      if let entry = queue.entries[id] { return entry.number }
    }
    return nil
  }

  /// All, or those of one remote or batch, in no order.
  func all(on remote: String? = nil, batch: String? = nil) -> [(number: Int64, id: TransferID)] {
    let batch = batch.map { ExactString($0) }
    return queues.filter { lane, _ in
      (remote == nil || lane.remote == remote) && (batch == nil || lane.batch == batch)
    }
    .flatMap { $0.value.entries.map { ($0.value.number, $0.key) } }
  }

  mutating func append(_ id: TransferID, _ entry: Entry, to lane: Lane) {
    queues[lane, default: Queue()].entries[id] = entry
    queues[lane]?.turns.append(id)
  }

  /// Takes a transfer out; nil where none with this id and number is parked.
  mutating func remove(_ id: TransferID, number: Int64) -> Entry? {
    // Found first and changed then: what is changed while it is walked through is copied, all of it.
    let lane = queues.first { $0.value.entries[id]?.number == number }?.key
    return lane.flatMap { queues[$0]?.entries.removeValue(forKey: id) }
  }

  /// Takes a transfer out, if it is parked.
  mutating func discard(_ id: TransferID) {
    for lane in queues.keys where queues[lane]?.entries[id] != nil {
      queues[lane]?.entries[id] = nil
      if isEmpty(lane), queues[lane]?.isLoading == false { queues[lane] = nil }
    }
  }

  /// Those whose turn is next, at most `limit`; none while those of the turn before load.
  mutating func startLoading(_ lane: Lane, limit: Int) -> [TransferID] {
    guard let queue = queues[lane], !queue.isLoading, !queue.entries.isEmpty else { return [] }
    queues[lane]?.isLoading = true
    var ids: [TransferID] = []
    while ids.count < limit, let id = queues[lane]?.turns.popFirst() { ids.append(id) }
    return ids
  }

  mutating func endLoading(_ lane: Lane) {
    queues[lane]?.isLoading = false
    // Gives the room of a long queue back.
    if isEmpty(lane) { queues[lane] = nil }
  }

  /// Takes all out.
  mutating func removeAll() -> [(id: TransferID, Entry, Lane)] {
    defer { queues = [:] }
    // In the order they came.
    return queues.flatMap { lane, queue in queue.entries.map { ($0.key, $0.value, lane) } }
      .sorted { $0.1.number < $1.1.number }
  }

  /// Takes out those of some that are still here.
  mutating func removeAll(_ ids: Set<TransferID>) -> [(id: TransferID, Entry, Lane)] {
    var removed: [(id: TransferID, Entry, Lane)] = []
    for (lane, queue) in queues {
      for (id, entry) in queue.entries where ids.contains(id) {
        removed.append((id, entry, lane))
        queues[lane]?.entries[id] = nil
      }
    }
    return removed
  }
}
