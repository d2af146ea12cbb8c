internal import JSON
internal import TransferModel

/// Which queued transfer gets the next free slot; a value without clock or I/O.
///
/// Round robin over remotes. Within one, small files (at most 1 MiB) and large ones are two
/// classes, each first in, first out; large ones hold at most half the slots while small ones
/// wait, and never the last of several, so that a small one that comes later finds one soon.
/// Transfers whose pace the host sets (streams) have slots of their own, since they would
/// otherwise hold one for as long as the host likes. A batch is a lane of its own beside its
/// remote's others, first in, first out over both classes, with slots of its own among them.
struct AdmissionQueue {
  /// How much of a remote's capacity a transfer asks for.
  enum Size: Int, CaseIterable {
    case small, large, hosted
  }

  /// The largest file of the small class, in bytes.
  static let smallLimit: Int64 = 1 << 20
  /// Streams that may be open at once.
  static let hostedSlots = 64

  /// Slots over all remotes.
  var concurrency: Int

  private var lanes: [Key: Lane] = [:]
  /// Lanes in the order of their turns.
  private var turns: [Key] = []
  private var remotes: [String: Remote] = [:]
  /// The slots of batches that have not as many as their remote.
  private var batchSlots: [Key: Int] = [:]
  private var running = Counts()

  init(concurrency: Int) { self.concurrency = concurrency }

  /// Running transfers by class.
  private struct Counts {
    var small = 0
    var large = 0
    var hosted = 0

    subscript(size: Size) -> Int {
      get {
        switch size {
        case .small: small
        case .large: large
        case .hosted: hosted
        }
      }
      set {
        switch size {
        case .small: small = newValue
        case .large: large = newValue
        case .hosted: hosted = newValue
        }
      }
    }

    var slots: Int { small + large }
  }

  /// Who waits together: a remote's single transfers, or those of a batch.
  private struct Key: Hashable {
    var remote: String
    var batch: ExactString?

    init(remote: String, batch: String?) {
      self.remote = remote
      self.batch = batch.map { ExactString($0) }
    }
  }

  /// What one remote may take and has.
  private struct Remote {
    var concurrency: Int
    var running = Counts()
  }

  /// The queues of one lane.
  private struct Lane {
    var waiting: [Size: FIFO] = [:]
    var running = Counts()
    var lastTicket = 0

    var isEmpty: Bool { waiting.values.allSatisfy { $0.count == 0 } }

    func count(_ size: Size) -> Int { waiting[size]?.count ?? 0 }
  }

  /// First in, first out, with removal from the middle: the place of one that was removed is
  /// skipped when its turn comes, so nothing is searched.
  private struct FIFO {
    private var places: [(id: TransferID, ticket: Int)] = []
    private var head = 0
    private var tickets: [TransferID: Int] = [:]

    var count: Int { tickets.count }

    /// The ticket of the first; nil where none waits.
    var first: Int? {
      places[head...].first { tickets[$0.id] == $0.ticket }?.ticket
    }

    mutating func append(_ id: TransferID, ticket: Int) {
      places.append((id, ticket))
      tickets[id] = ticket
    }

    mutating func remove(_ id: TransferID) { tickets[id] = nil }

    mutating func popFirst() -> TransferID? {
      while head < places.count {
        let place = places[head]
        head += 1
        if head > 1024, head * 2 > places.count {
          places.removeFirst(head)
          head = 0
        }
        if tickets[place.id] == place.ticket {
          tickets[place.id] = nil
          return place.id
        }
      }
      places.removeAll(keepingCapacity: true)
      head = 0
      return nil
    }
  }

  /// The class of a transfer of a number of bytes (nil: unknown).
  static func size(ofBytes bytes: Int64?, isHosted: Bool) -> Size {
    if isHosted { return .hosted }
    guard let bytes, bytes <= smallLimit else { return .large }
    return .small
  }

  /// Puts a transfer at the end of its class; `concurrency` is its remote's own limit.
  mutating func enqueue(
    _ id: TransferID,
    remote: String,
    batch: String? = nil,
    size: Size,
    concurrency: Int
  ) {
    let key = Key(remote: remote, batch: batch)
    if lanes[key] == nil { turns.append(key) }
    remotes[remote, default: Remote(concurrency: concurrency)].concurrency = concurrency
    var lane = lanes[key].take() ?? Lane()
    lane.lastTicket += 1
    lane.waiting[size, default: FIFO()].append(id, ticket: lane.lastTicket)
    lanes[key] = lane
  }

  /// How many of a class wait.
  func count(_ size: Size, on remote: String, batch: String? = nil) -> Int {
    lanes[Key(remote: remote, batch: batch)]?.count(size) ?? 0
  }

  /// Sets how many transfers of a batch may run at the same time; nil: its end.
  mutating func set(slots: Int?, ofBatch batch: String, on remote: String) {
    let key = Key(remote: remote, batch: batch)
    batchSlots[key] = slots
    drop(key)
  }

  /// The slots of a batch.
  func slots(ofBatch batch: String, on remote: String) -> Int {
    batchSlots[Key(remote: remote, batch: batch)] ?? .max
  }

  /// Takes a waiting transfer out.
  mutating func remove(_ id: TransferID, remote: String, batch: String? = nil, size: Size) {
    let key = Key(remote: remote, batch: batch)
    lanes[key]?.waiting[size]?.remove(id)
    drop(key)
  }

  /// A running transfer gave its slot back.
  mutating func release(remote: String, batch: String? = nil, size: Size) {
    let key = Key(remote: remote, batch: batch)
    running[size] -= 1
    remotes[remote]?.running[size] -= 1
    lanes[key]?.running[size] -= 1
    drop(key)
  }

  /// Forgets the lane of a batch that is over.
  private mutating func drop(_ key: Key) {
    guard key.batch != nil, batchSlots[key] == nil, let lane = lanes[key], lane.isEmpty,
      lane.running.slots + lane.running.hosted == 0
    else { return }
    lanes[key] = nil
    turns.removeAll { $0 == key }
  }

  /// Takes the next transfer that may run; nil while no slot is free for any that waits.
  mutating func admitNext() -> TransferID? {
    for turn in turns.indices {
      let key = turns[turn]
      guard let size = admissible(in: key), let id = lanes[key]?.waiting[size]?.popFirst()
      else { continue }
      running[size] += 1
      remotes[key.remote]?.running[size] += 1
      lanes[key]?.running[size] += 1
      turns.append(turns.remove(at: turn))
      return id
    }
    return nil
  }

  private func admissible(in key: Key) -> Size? {
    guard let lane = lanes[key], !lane.isEmpty, let remote = remotes[key.remote] else { return nil }
    let own = key.batch == nil ? .max : batchSlots[key] ?? .max
    guard lane.running.slots + (key.batch == nil ? 0 : lane.running.hosted) < own else {
      return nil
    }
    if lane.count(.hosted) > 0, running.hosted < Self.hostedSlots { return .hosted }
    guard running.slots < concurrency, remote.running.slots < remote.concurrency else { return nil }
    let smallWaits = lane.count(.small) > 0
    guard lane.count(.large) > 0 else { return smallWaits ? .small : nil }
    let slots = min(concurrency, remote.concurrency)
    let largeShare = smallWaits ? slots / 2 : slots - 1
    let isTurn =
      if key.batch != nil, let large = lane.waiting[.large]?.first,
        let small = lane.waiting[.small]?.first
      {
        large < small
      } else {
        // The classes take turns: the one with fewer running goes first.
        !smallWaits || lane.running.large <= lane.running.small
      }
    if isTurn, remote.running.large < max(1, largeShare) { return .large }
    return smallWaits ? .small : nil
  }
}
