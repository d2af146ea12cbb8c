package import JSON
import Synchronization
package import TransferModel

/// What a killed process must know about its transfers, in SQLite below the state directory.
///
/// `<state directory>/journal/<scope>/` has for each process `<name>.db`, the lock `<name>.lock`
/// it holds while it lives, and `<name>.spool/`. A start takes over, in its scope only, the files
/// whose owner is dead. All work is done by one thread; no call here blocks.
///
/// Trouble never fails a transfer: where the disk is full, read-only or damaged, calls succeed,
/// nothing is kept, and the journal says so once. Later changes are tried again.
package final class Journal: Sendable {
  private let queue = JournalQueue()
  private let end = Mutex(End())

  private struct End {
    var isReached = false
    var waiting: [@Sendable () -> Void] = []
  }

  /// Opens the journal of a scope without waiting for it; no file is made before the first row.
  ///
  /// - Parameters:
  ///   - stateDirectory: absolute; made, for this user alone, where it is missing.
  ///   - scope: what the host calls its state (`stateKey`); any text.
  ///   - onTrouble: told each kind of trouble once, on the journal's thread; it must not block.
  package init(
    stateDirectory: String,
    scope: String,
    onTrouble: @escaping @Sendable (TransferError) -> Void
  ) {
    let thread = JournalThread(
      folder: "\(stateDirectory)/journal/\(ScopeName.make(scope))",
      queue: queue,
      tell: onTrouble,
      ended: { [weak self] in self?.reachEnd() }
    )
    thread.start()
  }

  // The thread finishes what was written, closes the files and ends.
  deinit { queue.close() }

  /// Writes changes down soon: within 5 ms, together with others.
  ///
  /// Changes to one transfer that come before that are merged, so progress may be written often.
  package func write(_ changes: JournalChange...) { queue.add(changes) }

  /// Writes changes down and waits until they are, so that they survive the death of the process.
  ///
  /// A cancelled task waits all the same.
  /// - Returns: whether all are kept; where not, the trouble was told.
  @discardableResult
  package func write(_ changes: [JournalChange]) async -> Bool {
    await withCheckedContinuation { continuation in
      queue.add(changes) { continuation.resume(returning: $0) }
    }
  }

  /// Writes changes down soon and tells when they are, or that they are not kept.
  ///
  /// `then` is called on the journal's thread, in the order of the calls; it must not block.
  package func write(
    _ changes: [JournalChange],
    then: @escaping @Sendable (_ isKept: Bool) -> Void
  ) {
    queue.add(changes, waiter: then)
  }

  /// What is known of an id, at one look.
  ///
  /// `then` is called on the journal's thread, in the order of the calls; it must not block.
  package func find(
    _ id: TransferID,
    then: @escaping @Sendable (JournalFinding) -> Void
  ) {
    queue.ask { then($0?.find(id) ?? .unknown) }
  }

  /// The rows of some ids, of those that this process owns, in no order.
  ///
  /// `then` is called on the journal's thread, in the order of the calls; it must not block.
  package func rows(
    ids: [TransferID],
    then: @escaping @Sendable ([JournalRow]) -> Void
  ) {
    queue.ask { files in then(ids.compactMap { id in files?.row(id) ?? nil }) }
  }

  /// The row of an id; where there is none, whether another living process of the scope has it.
  ///
  /// A process that was just told to end may take a moment: its end is waited for, and its files
  /// are then taken over.
  /// - Parameters:
  ///   - id: an id this process does not know; new ids are answered at once.
  ///   - patience: how long to wait for another process; a cancelled task waits no longer.
  /// - Returns: `heldByAnother` when its owner outlived the patience: fail retryably.
  package func find(_ id: TransferID, patience: Duration) async -> JournalFinding {
    let deadline = ContinuousClock.now + patience
    while true {
      let finding = await ask { $0.find(id) } ?? .unknown
      guard finding == .heldByAnother, ContinuousClock.now < deadline else { return finding }
      // The kernel tells nobody that a lock was let go.
      guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { return finding }
    }
  }

  /// Rows in their order.
  ///
  /// - Parameters:
  ///   - cursor: the place behind which the page starts.
  ///   - limit: at least 1; how many rows are held in memory at once.
  ///   - state: of this state only; nil for any.
  /// - Returns: at most `limit` rows.
  package func page(
    after cursor: JournalCursor = .start,
    limit: Int,
    state: TransferState? = nil
  ) async -> JournalPage {
    precondition(limit > 0, "a page of \(limit) rows")
    return await ask { $0.page(after: cursor, limit: limit, state: state) } ?? JournalPage()
  }

  /// The batches that this process owns, each with its record.
  package func batches() async -> [ExactString: [UInt8]] { await ask { $0.batches() } ?? [:] }

  /// The highest number of a row, 0 without rows: new transfers go on from here.
  package func lastNumber() async -> Int64 { await ask { $0.lastNumber() } ?? 0 }

  /// Makes a file for content of a transfer that will name it in its row.
  ///
  /// - Throws: `ERR_DISK_FULL`, `ERR_FILE_ACCESS_DENIED` and the like.
  package func makeSpool() async throws(TransferError) -> SpoolFile {
    let result = await ask { files -> Result<SpoolFile, TransferError> in
      do throws(TransferError) {
        return .success(try SpoolFile.create(in: try files.ownFile().claim.spool))
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw TransferError(.shuttingDown, "The journal is closed.") }
    return try result.get()
  }

  /// Writes what is left, closes the files and lets them go; later calls keep and find nothing.
  package func close() async {
    queue.close()
    await withCheckedContinuation { continuation in
      let isReached = end.withLock { end in
        if !end.isReached { end.waiting.append { continuation.resume() } }
        return end.isReached
      }
      if isReached { continuation.resume() }
    }
  }

  private func reachEnd() {
    let waiting = end.withLock { end in
      end.isReached = true
      defer { end.waiting = [] }
      return end.waiting
    }
    for tell in waiting { tell() }
  }

  private func ask<Value: Sendable>(
    _ question: @escaping @Sendable (JournalFiles) -> Value
  ) async -> Value? {
    await withCheckedContinuation { continuation in
      queue.ask { continuation.resume(returning: $0.map(question)) }
    }
  }
}
