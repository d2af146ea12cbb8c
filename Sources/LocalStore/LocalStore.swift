import Synchronization
package import TransferModel

/// The embedded remote's disk: objects, channel files and announcements below one root folder,
/// shared by any number of processes and whole after a kill at any point.
///
/// Nothing is touched before the first use, which makes what does not exist (0700). A call that
/// returns has made its work durable. Calls do their disk work on threads of the store's own;
/// writes that arrive while a transaction commits share the next one. Cancelling a task does not
/// take back a call under way.
///
/// Errors of all calls: `ERR_DISK_FULL`, `ERR_FILE_ACCESS_DENIED` (the root may not be written),
/// `ERR_UNSUPPORTED` (the index is of a newer version or no index), `ERR_CONFIG` (the root is not
/// an absolute path), `ERR_SHUTTING_DOWN` (closed) and `ERR_UNKNOWN` (the disk or a damaged index).
package final class LocalStore: Sendable {
  let layout: StoreLayout
  let bellListeners: BellListeners
  private let ids = ContentID()
  private let worker: StoreWorker

  /// The absolute path of the store's folder.
  package var root: String { layout.root }

  /// Names the folder, and touches nothing.
  package init(root: String) {
    layout = StoreLayout(root: root)
    worker = StoreWorker(layout: layout)
    bellListeners = BellListeners(path: layout.bell)
  }

  deinit {
    bellListeners.close()
    worker.close {}
  }

  /// Makes room for content that nobody sees before it is published; blocks.
  ///
  /// - Parameter expectedSize: Bytes to reserve at once, so that a full disk shows before the
  ///   first is written; nil or under 1 MiB: none.
  /// - Returns: The staging, open for writing.
  /// - Throws: `ERR_DISK_FULL` and the errors of all calls.
  package func stage(expectedSize: Int64?) throws(TransferError) -> Staging {
    try layout.create()
    return try Staging(layout: layout, ids: ids, expectedSize: expectedSize)
  }

  /// Takes up content that an earlier process staged and `recover` knows nothing of; nil where it
  /// is gone; blocks.
  package func reopen(_ id: String) throws(TransferError) -> Staging? {
    guard ContentID.isValid(id) else { return nil }
    return try Staging(reopening: id, layout: layout)
  }

  /// What became of content that an earlier process staged.
  package func recover(_ id: String) async throws(TransferError) -> RecoveredContent {
    try await read { index throws(TransferError) in try index.recover(id) }
  }

  /// Where stored content can be had: the `file://` URI of an object's ETag or a file's id.
  package func url(content id: String) -> String { layout.url(id) }

  /// Ends the store's threads and closes the index; calls under way are finished first, later ones
  /// fail with `ERR_SHUTTING_DOWN`.
  package func close() async {
    bellListeners.close()
    await withCheckedContinuation { continuation in
      worker.close { continuation.resume() }
    }
  }

  /// Runs work that reads the index.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (Index) throws(TransferError) -> Value
  ) async throws(TransferError) -> Value {
    try await perform(.read, nil, body)
  }

  /// Runs work that writes the index and, where content is staged, publishes it.
  func write<Value: Sendable>(
    _ staging: Staging? = nil,
    _ body: @escaping @Sendable (Index) throws(TransferError) -> Value
  ) async throws(TransferError) -> Value {
    try await perform(.write, staging, body)
  }

  private func perform<Value: Sendable>(
    _ kind: IndexJob.Kind,
    _ staging: Staging?,
    _ body: @escaping @Sendable (Index) throws(TransferError) -> Value
  ) async throws(TransferError) -> Value {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<Value, TransferError>, Never>) in
      worker.submit(
        IndexJob(
          kind: kind,
          staging: staging,
          run: { index throws(TransferError) in
            let value = try body(index)
            return { continuation.resume(returning: .success(value)) }
          },
          refuse: { continuation.resume(returning: .failure($0)) }
        )
      )
    }
    return try result.get()
  }
}
