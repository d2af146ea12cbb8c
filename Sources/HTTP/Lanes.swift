import TransferModel

/// Who may use a connection, by what requests compete with.
///
/// The waiting is done here rather than in libcurl, where a request that waits for a connection
/// has no time limit.
struct Lanes {
  private var bulk: Lane
  private var calls: Lane
  /// Long polls hold a connection each and count against nothing.
  private var polls = Lane(limit: .max)

  private struct Lane {
    let limit: Int
    var inUse = 0
    var waiting: [Int] = []
    /// The first that still waits; what is before has begun.
    var head = 0

    init(limit: Int) { self.limit = limit }

    var count: Int { waiting.count - head }

    mutating func next() -> Int? {
      guard inUse < limit, head < waiting.count else { return nil }
      defer { head += 1 }
      inUse += 1
      return waiting[head]
    }

    mutating func append(_ id: Int) {
      if head == waiting.count || head > 1024 {
        waiting.removeFirst(head)
        head = 0
      }
      waiting.append(id)
    }

    mutating func leave(_ id: Int) {
      if let place = waiting[head...].firstIndex(of: id) {
        waiting.remove(at: place)
      } else {
        inUse -= 1
      }
    }
  }

  init(_ limits: HTTPLimits) {
    bulk = Lane(limit: max(1, limits.bulk))
    calls = Lane(limit: max(1, limits.calls))
  }

  var bulkInUse: Int { bulk.inUse }
  var callsInUse: Int { calls.inUse }
  var pollsInUse: Int { polls.inUse }
  var waiting: Int { bulk.count + calls.count }

  /// Takes a request in; it begins when `next` says so.
  mutating func enter(_ id: Int, _ lane: HTTPLane) {
    switch lane {
    case .bulk: bulk.append(id)
    case .call: calls.append(id)
    case .poll: polls.append(id)
    }
  }

  /// The next request that may begin, in the order they came to each lane.
  mutating func next() -> Int? { polls.next() ?? calls.next() ?? bulk.next() }

  /// Lets go of a request that was taken in, whether it has begun or not.
  mutating func leave(_ id: Int, _ lane: HTTPLane) {
    switch lane {
    case .bulk: bulk.leave(id)
    case .call: calls.leave(id)
    case .poll: polls.leave(id)
    }
  }
}
