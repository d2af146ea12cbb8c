internal import Crypto
internal import Synchronization
internal import TransferModel

/// Who waits for the CRC-32Cs of which parts of a file that one reader goes through from front to
/// back.
final class PassingSums: Sendable {
  typealias Waiting = CheckedContinuation<Result<CRC32C?, TransferError>, Never>

  private let state: Mutex<State>

  private struct State {
    /// How far the reader has gone, with what it has begun on.
    var begun: Int64
    /// How far it may go.
    var limit: Int64 = 0
    /// By where the parts start.
    var asked: [Int64: Asked] = [:]
    /// The part that the reader is in, by where it starts.
    var current: Int64?
    var isClosed = false
  }

  private struct Asked {
    let id: Int
    let end: Int64
    let waiting: Waiting
  }

  private let lastID = Atomic(0)

  /// Bytes that the reader takes in a moment; who is further ahead or longer would wait too long.
  private static let reach: Int64 = 64 << 20

  init(from offset: Int64) { state = Mutex(State(begun: offset)) }

  /// Allows reading up to there; `tell` hears how far it is allowed now.
  func raise(to end: Int64, _ tell: (Int64) -> Void) {
    state.withLock { state in
      state.limit = max(state.limit, end)
      // Under the lock, so that what is heard only grows.
      tell(state.limit)
    }
  }

  /// What a question is dropped by.
  func newID() -> Int { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Asks for a part's sum; answers nil where the reader will not come by soon.
  func ask(_ id: Int, _ part: Range<Int64>, _ waiting: Waiting) {
    let isTaken = state.withLock { state in
      guard !state.isClosed, part.lowerBound >= state.begun,
        part.upperBound - state.begun <= Self.reach, state.asked[part.lowerBound] == nil
      else { return false }
      state.asked[part.lowerBound] = Asked(id: id, end: part.upperBound, waiting: waiting)
      return true
    }
    if !isTaken { waiting.resume(returning: .success(nil)) }
  }

  /// Nobody waits for a part's sum any more.
  func drop(_ id: Int) {
    let dropped = state.withLock { state -> Asked? in
      guard let start = state.asked.first(where: { $0.value.id == id })?.key else { return nil }
      if state.current == start { state.current = nil }
      return state.asked.removeValue(forKey: start)
    }
    dropped?.waiting.resume(returning: .failure(.stopped))
  }

  /// The reader begins on a piece, at most up to `end`.
  /// - Returns: where the piece is to end, and whether a part starts with it whose sum is wanted.
  func begin(at offset: Int64, upTo end: Int64) -> (next: Int64, isBeginning: Bool) {
    state.withLock { state in
      let isBeginning = state.current == nil && state.asked[offset] != nil
      if isBeginning { state.current = offset }
      let bound =
        if let current = state.current { state.asked[current]?.end } else {
          state.asked.keys.filter { $0 > offset }.min()
        }
      state.begun = min(end, bound ?? end)
      return (state.begun, isBeginning)
    }
  }

  /// The reader has come to the end of a piece, with the sum since the start of a part.
  /// - Returns: whether the part ends here, or nobody waits for it any more.
  func end(at offset: Int64, _ sum: CRC32C) -> Bool {
    var passed: [Waiting] = []
    let (isOver, done): (Bool, Waiting?) = state.withLock { state in
      guard let current = state.current else { return (true, nil) }
      guard state.asked[current]?.end == offset else { return (false, nil) }
      state.current = nil
      let done = state.asked.removeValue(forKey: current)?.waiting
      // Parts do not overlap; one that did would wait for ever.
      for start in state.asked.keys where start < offset {
        if let missed = state.asked.removeValue(forKey: start) { passed.append(missed.waiting) }
      }
      return (true, done)
    }
    done?.resume(returning: .success(sum))
    for waiting in passed { waiting.resume(returning: .success(nil)) }
    return isOver
  }

  /// The reader stops.
  func close() {
    let left = state.withLock { state in
      state.isClosed = true
      defer { state.asked = [:] }
      return state.asked.values.map(\.waiting)
    }
    for waiting in left { waiting.resume(returning: .success(nil)) }
  }
}
