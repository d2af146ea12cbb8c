internal import Synchronization
internal import TransferModel

/// The digest of a file while its bytes come to be there, in whatever order: hashing follows the
/// end of what is there without a gap.
final class FrontierDigest: Sendable {
  private let frontier: AsyncStream<Int64>.Continuation
  private let reading: Task<Result<ContentHasher, TransferError>, Never>
  private let present = Mutex(ContiguousRanges())

  /// Begins at the start of a file, with `hasher` where that has taken `offset` bytes already.
  ///
  /// The owner of the descriptor lives at least as long as the file is read.
  init(
    of descriptor: Int32,
    owner: any Sendable,
    from offset: Int64 = 0,
    _ hasher: ContentHasher,
    on pool: BlockingPool
  ) {
    let (stream, frontier) = AsyncStream.makeStream(
      of: Int64.self,
      bufferingPolicy: .bufferingNewest(1)
    )
    self.frontier = frontier
    present.withLock { $0.add(0..<offset) }
    reading = Task(executorPreference: pool) {
      defer { withExtendedLifetime(owner) {} }
      var hashed = offset
      for await end in stream {
        while hashed < end {
          if Task.isCancelled { return .failure(TransferError(.cancelled, "Stopped.")) }
          let next = min(end, hashed + Int64(TransferRun.sliceBytes))
          if let error = hasher.update(from: descriptor, in: hashed..<next) {
            return .failure(error)
          }
          hashed = next
          // The pool has few threads, and others wait for them.
          await Task.yield()
        }
      }
      return .success(hasher)
    }
  }

  deinit { cancel() }

  /// Bytes are there.
  func add(_ range: Range<Int64>) {
    let end = present.withLock { present in
      present.add(range)
      return present.end
    }
    frontier.yield(end)
  }

  /// The digest of all that is there.
  func finish() async throws(TransferError) -> ContentHasher {
    frontier.finish()
    return try await reading.value.get()
  }

  /// Nobody wants it any more.
  func cancel() {
    reading.cancel()
    frontier.finish()
  }
}

/// Ranges that arrive in any order, and how far they reach from 0 without a gap.
struct ContiguousRanges: Equatable {
  /// The end of the part without a gap.
  private(set) var end: Int64 = 0
  /// What lies beyond a gap: starts and ends.
  private var islands: [Int64: Int64] = [:]

  /// Takes a range that overlaps no other.
  mutating func add(_ range: Range<Int64>) {
    guard !range.isEmpty else { return }
    islands[range.lowerBound] = range.upperBound
    while let next = islands.removeValue(forKey: end) { end = next }
  }
}
