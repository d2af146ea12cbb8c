internal import TransferModel

/// Which queued transfer gets the next free slot; a value without clock or I/O.
///
/// Round robin over remotes. Within one, small files (at most 1 MiB) and large ones are two
/// classes, each first in, first out; large ones hold at most half the slots while small ones
/// wait, and never the last of several, so that a small one that comes later finds one soon. Transfers whose pace the host sets (streams) have slots of their own, since they would
/// otherwise hold one for as long as the host likes.
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

  private var remotes: [String: Lane] = [:]
  /// Remotes in the order of their turns.
  private var turns: [String] = []
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

  /// One remote's queues.
  private struct Lane {
    var concurrency: Int
    var waiting: [Size: FIFO] = [:]
    var running = Counts()

    var isEmpty: Bool { waiting.values.allSatisfy { $0.count == 0 } }

    func count(_ size: Size) -> Int { waiting[size]?.count ?? 0 }
  }

  /// First in, first out, with removal from the middle: the place of one that was removed is
  /// skipped when its turn comes, so nothing is searched.
  private struct FIFO {
    private var places: [(id: TransferID, ticket: Int)] = []
    private var head = 0
    private var tickets: [TransferID: Int] = [:]
    private var lastTicket = 0

    var count: Int { tickets.count }

    mutating func append(_ id: TransferID) {
      lastTicket += 1
      places.append((id, lastTicket))
      tickets[id] = lastTicket
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
    size: Size,
    concurrency: Int
  ) {
    if remotes[remote] == nil { turns.append(remote) }
    remotes[remote, default: Lane(concurrency: concurrency)].concurrency = concurrency
    remotes[remote, default: Lane(concurrency: concurrency)]
      .waiting[size, default: FIFO()].append(id)
  }

  /// How many of a class wait.
  func count(_ size: Size, on remote: String) -> Int { remotes[remote]?.count(size) ?? 0 }

  /// Takes a waiting transfer out.
  mutating func remove(_ id: TransferID, remote: String, size: Size) {
    remotes[remote]?.waiting[size]?.remove(id)
  }

  /// A running transfer gave its slot back.
  mutating func release(remote: String, size: Size) {
    running[size] -= 1
    remotes[remote]?.running[size] -= 1
  }

  /// Takes the next transfer that may run; nil while no slot is free for any that waits.
  mutating func admitNext() -> TransferID? {
    for turn in turns.indices {
      let remote = turns[turn]
      guard let size = admissible(in: remote), let id = remotes[remote]?.waiting[size]?.popFirst()
      else { continue }
      running[size] += 1
      remotes[remote]?.running[size] += 1
      turns.append(turns.remove(at: turn))
      return id
    }
    return nil
  }

  private func admissible(in remote: String) -> Size? {
    guard let lane = remotes[remote], !lane.isEmpty else { return nil }
    if lane.count(.hosted) > 0, running.hosted < Self.hostedSlots { return .hosted }
    guard running.slots < concurrency, lane.running.slots < lane.concurrency else { return nil }
    let smallWaits = lane.count(.small) > 0
    let slots = min(concurrency, lane.concurrency)
    let largeShare = smallWaits ? slots / 2 : slots - 1
    // The classes take turns: the one with fewer running goes first.
    let isTurn = !smallWaits || lane.running.large <= lane.running.small
    if lane.count(.large) > 0, isTurn, lane.running.large < max(1, largeShare) { return .large }
    return smallWaits ? .small : nil
  }
}
