internal import Synchronization

/// Collects the replies to the members of one batch array until the last is there.
final class BatchReply: Sendable {
  /// A finished array: its bytes, and the ids it answers.
  struct Array {
    let bytes: [UInt8]
    let ids: [RequestID]
  }

  private let state = Mutex(State())

  private struct State {
    var bytes: [UInt8] = []
    var ids: [RequestID] = []
    // The array itself counts as one until all its members were read.
    var open = 1
  }

  /// Counts one more reply to wait for.
  func expect() { state.withLock { $0.open += 1 } }

  /// Adds an expected reply.
  /// - Returns: the array, when this was the last one.
  func add(_ reply: [UInt8], to id: RequestID?) -> Array? {
    state.withLock { state in
      state.bytes.append(state.bytes.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
      state.bytes.append(contentsOf: reply)
      if let id { state.ids.append(id) }
      return Self.close(&state)
    }
  }

  /// Says that all members were read.
  /// - Returns: the array, when all replies are there and there are any.
  func end() -> Array? { state.withLock { Self.close(&$0) } }

  private static func close(_ state: inout State) -> Array? {
    state.open -= 1
    guard state.open == 0, !state.bytes.isEmpty else { return nil }
    state.bytes.append(UInt8(ascii: "]"))
    defer { state = State() }
    return Array(bytes: state.bytes, ids: state.ids)
  }
}
