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
    var asked: [Int64: (end: Int64, waiting: Waiting)] = [:]
    /// The part that the reader is in, by where it starts.
    var current: Int64?
    var isClosed = false
  }

  /// So many parts are sent at the same time; who is further ahead would wait for long.
  private static let partsAhead: Int64 = 4

  init(from offset: Int64) { state = Mutex(State(begun: offset)) }

  /// Allows reading up to there; `tell` hears how far it is allowed now.
  func raise(to end: Int64, _ tell: (Int64) -> Void) {
    state.withLock { state in
      state.limit = max(state.limit, end)
      // Under the lock, so that what is heard only grows.
      tell(state.limit)
    }
  }

  /// Asks for a part's sum; answers nil where the reader will not come by soon.
  func ask(_ part: Range<Int64>, _ waiting: Waiting) {
    let isTaken = state.withLock { state in
      let ahead = part.lowerBound - state.begun
      guard !state.isClosed, (0...Self.partsAhead * Int64(part.count)).contains(ahead),
        state.asked[part.lowerBound] == nil
      else { return false }
      state.asked[part.lowerBound] = (part.upperBound, waiting)
      return true
    }
    if !isTaken { waiting.resume(returning: .success(nil)) }
  }

  /// Nobody waits for a part any more.
  func drop(_ part: Range<Int64>) {
    let dropped = state.withLock { state in
      if state.current == part.lowerBound { state.current = nil }
      return state.asked.removeValue(forKey: part.lowerBound)
    }
    dropped?.waiting.resume(returning: .failure(.stopped))
  }

  /// The reader begins on a piece, at most up to `end`.
  /// - Returns: where the piece is to end, and whether a part starts with it whose sum is wanted.
  func begin(at offset: Int64, upTo end: Int64) -> (next: Int64, isBeginning: Bool) {
    state.withLock { state in
      let isBeginning = state.asked[offset] != nil
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
    let (isOver, done): (Bool, Waiting?) = state.withLock { state in
      guard let current = state.current else { return (true, nil) }
      guard state.asked[current]?.end == offset else { return (false, nil) }
      state.current = nil
      return (true, state.asked.removeValue(forKey: current)?.waiting)
    }
    done?.resume(returning: .success(sum))
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
