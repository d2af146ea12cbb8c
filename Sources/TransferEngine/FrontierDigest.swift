internal import Crypto
internal import Synchronization
internal import TransferModel

/// The digest of a file while its bytes come to be there, in whatever order, or are sent: hashing
/// follows the end of what is there without a gap.
final class FrontierDigest: Sendable {
  private let frontier: AsyncStream<Int64>.Continuation
  private let reading: Task<Result<ContentHasher, TransferError>, Never>
  private let present = Mutex(ContiguousRanges())
  private let sums: PassingSums

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
    let sums = PassingSums(from: offset)
    self.sums = sums
    reading = Task(executorPreference: pool) {
      defer {
        sums.close()
        withExtendedLifetime(owner) {}
      }
      var hashed = offset
      var sum: CRC32C?
      for await end in stream {
        while hashed < end {
          if Task.isCancelled { return .failure(.stopped) }
          let slice = min(end, hashed + Int64(TransferRun.sliceBytes))
          let (next, isBeginning) = sums.begin(at: hashed, upTo: slice)
          if isBeginning { sum = CRC32C() }
          let error = hasher.update(from: descriptor, in: hashed..<next) { sum?.update($0) }
          if let error { return .failure(error) }
          hashed = next
          if let whole = sum, sums.end(at: hashed, whole) { sum = nil }
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

  /// Of a file that is whole, the bytes before `end` may be read.
  func read(upTo end: Int64) { sums.raise(to: end) { frontier.yield($0) } }

  /// The CRC-32C of a part of a file that is whole, found in the same pass.
  /// - Returns: nil where the part is behind, long or far ahead: then it is quicker to read it apart.
  /// - Throws: `ERR_CANCELLED` where the task is cancelled.
  func crc32c(of range: Range<Int64>) async throws(TransferError) -> CRC32C? {
    let id = sums.newID()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { waiting in
        sums.ask(id, range, waiting)
        read(upTo: range.upperBound)
        // Cancelled before there was anything to drop.
        if Task.isCancelled { sums.drop(id) }
      }
    } onCancel: {
      sums.drop(id)
    }
    return try result.get()
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
