internal import Configuration
internal import Crypto
internal import JSON
internal import Synchronization
internal import TransferEngine
package import TransferModel

/// The batches of a process: uploads to one destination that run and are reported together.
///
/// What a batch decides, `Batch` decides as a value; here it is carried out over the engine, which
/// runs each file as a transfer. Events of files that were removed end here.
package final class Batches: Sendable {
  let engine: TransferEngine
  let tell: AsyncStream<SharingEvent>.Continuation
  let state = Mutex<[ExactString: Batch]>([:])

  init(engine: TransferEngine, tell: AsyncStream<SharingEvent>.Continuation) {
    self.engine = engine
    self.tell = tell
  }

  /// A file that is to be uploaded.
  package struct Item: Sendable {
    /// Chosen by the host, and told with every event.
    package let id: String
    /// What its type makes of it.
    package let kind: AttachmentKind
    /// What to transfer.
    package let spec: @Sendable (TransferID, BatchFile) throws(TransferError) -> TransferSpec

    /// Makes an item.
    package init(
      id: String,
      kind: AttachmentKind,
      spec: @escaping @Sendable (TransferID, BatchFile) throws(TransferError) -> TransferSpec
    ) {
      self.id = id
      self.kind = kind
      self.spec = spec
    }
  }

  /// Makes a batch, or joins the one that was made by the same request.
  /// - Throws: `ERR_DUPLICATE_BATCH`.
  package func create(_ settings: BatchSettings) throws(TransferError) {
    let isNew = try state.withLock { batches throws(TransferError) in
      if let batch = batches[settings.id] {
        guard batch.settings.means(settings) else { throw .duplicate(batch: settings.id) }
        return false
      }
      let batch = Batch(settings)
      batches[settings.id] = batch
      keep(batch)
      return true
    }
    if isNew { apply(settings) }
  }

  /// How a batch is set up.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func settings(of id: String) throws(TransferError) -> BatchSettings {
    try state.withLock { batches throws(TransferError) in
      guard let batch = batches[id] else { throw .unknown(batch: id) }
      return batch.settings
    }
  }

  /// Changes how a batch goes about its files, from the next one on; nil leaves a setting, and
  /// `.some(nil)` takes the parent away.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func configure(
    _ id: String,
    concurrency: Int?,
    retries: Int?,
    parent: Timetoken?? = nil
  ) throws(TransferError) {
    let settings = try change(id) { batch in
      if let concurrency { batch.settings.pace.concurrency = concurrency }
      if let retries { batch.settings.pace.retries = retries }
      if let parent { batch.settings.parent = parent }
      keep(batch)
      return batch.settings
    }
    apply(settings)
  }

  /// Takes files in; `accepted` is called before anything is told of them.
  ///
  /// Blocks the calling thread as `TransferEngine.submit` does.
  /// - Throws: `ERR_UNKNOWN_ID`; `ERR_INVALID_ARGUMENT` where the remote is gone.
  package func upload(
    _ id: String,
    _ items: [Item],
    accepted: () -> Void
  ) throws(TransferError) {
    let settings = try settings(of: id)
    let limit = try engine.remotes.limits(of: settings.remote).maxFileCount
    try change(id) { $0.beginCall() }
    accepted()
    for item in items { take(item, into: id, limit: limit) }
    _ = try? change(id) { $0.endCall() }
    engine.poke(batch: id)
  }

  /// Takes a file out, silently; what was uploaded and not sent is deleted from the remote.
  /// - Returns: false where the batch has no such file.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func remove(_ file: String, from id: String) throws(TransferError) -> Bool {
    let removed = try change(id) { batch in
      let removed = batch.remove(file)
      if removed?.isInDoubt == true { keep(batch) }
      return removed
    }
    guard let removed else { return false }
    let stored = removed.isUnsent ? try? engine.snapshot(of: removed.transfer) : nil
    engine.discard([removed.transfer])
    engine.poke(batch: id)
    if let stored, let result = stored.result { delete([(stored.spec.remote, result)]) }
    return true
  }

  /// Puts a file that failed in line again, or all of them.
  /// - Returns: how many.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func retry(_ file: String?, in id: String) throws(TransferError) -> Int {
    let retried = try change(id) { batch in
      let files = file.map { [$0] } ?? batch.all.map(\.id)
      return files.compactMap { file in
        batch.retry(file, isAsked: true).map { (file, $0) }
      }
    }
    for (file, transfer) in retried { retry(transfer, as: file, in: id) }
    return retried.count
  }

  /// Drops a batch and all its files; of a channel's, what was uploaded and not sent is deleted.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func clear(_ id: String) throws(TransferError) {
    let batch = try state.withLock { batches throws(TransferError) in
      guard let batch = batches.removeValue(forKey: ExactString(id)) else {
        throw .unknown(batch: id)
      }
      engine.forget(batch: id)
      return batch
    }
    let isChannel = batch.settings.channel != nil
    let unsent = batch.all.filter { isChannel && $0.isUnsent }.map(\.transfer)
    let others = batch.all.filter { !isChannel || !$0.isUnsent }.map(\.transfer)
    engine.discard(others)
    engine.set(slots: nil, ofBatch: id, on: batch.settings.remote)
    if unsent.isEmpty { return }
    // Ends with the last file deleted; the process waits for it where it ends in good order.
    Task { [engine] in
      await engine.whileActive {
        for chunk in unsent.chunks(of: 256) {
          let stored = await engine.snapshots(of: chunk).values.compactMap(\.result)
          engine.discard(chunk)
          await Self.delete(stored.map { (batch.settings.remote, $0) }, from: engine)
        }
      }
    }
  }

  /// Takes up what earlier processes left.
  func restore() async {
    let (records, files) = await engine.takeRestored()
    let (restored, orphans) = state.withLock { batches in
      var restored: [BatchSettings] = []
      for (id, record) in records where batches[id] == nil {
        guard var batch = Batch(id: id.text, decoding: record) else { continue }
        let settings = batch.settings
        // Earlier versions kept it as it was given.
        let given = settings.channel
        if let channel = given.flatMap({ try? engine.channel($0, on: settings.remote) }) {
          batch.settings.destination = .channel(channel)
        }
        batches[id] = batch
        restored.append(batch.settings)
      }
      var orphans: [TransferID] = []
      for file in files.sorted(by: { $0.file.place < $1.file.place })
      where batches[file.file.batch]?.restore(file) != true {
        orphans.append(file.id)
      }
      for settings in restored { batches[settings.id]?.endRestore() }
      return (restored, orphans)
    }
    for settings in restored { apply(settings) }
    // Of batches that were cleared while the process was killed.
    engine.discard(orphans)
  }

  /// Has a batch written down as it is; called where it cannot change, so that no older record
  /// comes after.
  func keep(_ batch: Batch) { engine.keep(batch: batch.settings.id, batch.record) }

  private func apply(_ settings: BatchSettings) {
    engine.set(slots: settings.pace.concurrency, ofBatch: settings.id, on: settings.remote)
  }

  /// Changes a batch.
  /// - Throws: `ERR_UNKNOWN_ID`.
  func change<Value>(
    _ id: String,
    _ body: (inout Batch) -> Value
  ) throws(TransferError) -> Value {
    try state.withLock { batches throws(TransferError) in
      guard let index = batches.index(forKey: ExactString(id)) else { throw .unknown(batch: id) }
      return body(&batches.values[index])
    }
  }

  private func take(_ item: Item, into id: String, limit: Int?) {
    guard let transfer = TransferID(RandomID.make()),
      let addition = try? change(id, { $0.add(item.id, transfer, item.kind, limit: limit) })
    else { return }
    switch addition {
    case .duplicate:
      let error = TransferError(
        .invalidFileObject,
        "The batch has a file \"\(item.id)\" already; remove it first, or choose another fileId.",
        phase: .prepare
      )
      refuse(item.id, of: id, error, isDuplicate: true)
    case .again(let place, let old):
      engine.discard([old])
      submit(item, transfer, into: id, place: place, hasPlace: true)
    case .new(let place, let hasPlace):
      submit(item, transfer, into: id, place: place, hasPlace: hasPlace)
    }
  }

  private func submit(
    _ item: Item,
    _ transfer: TransferID,
    into id: String,
    place: Int64,
    hasPlace: Bool
  ) {
    do throws(TransferError) {
      let file = BatchFile(batch: id, file: item.id, place: place)
      let isHeld = try engine.submit(try item.spec(transfer, file), hasPlace: hasPlace)
      if !isHeld { _ = try? change(id) { $0.refuse(item.id) } }
    } catch {
      let error = error.during(.prepare)
      _ = try? change(id) { $0.refuse(item.id, because: error) }
      refuse(item.id, of: id, error, isDuplicate: false)
    }
  }

  private func refuse(_ file: String, of id: String, _ error: TransferError, isDuplicate: Bool) {
    let name = BatchFileName(batch: id, file: file)
    tell.yield(.batch(.refused(name, error, isDuplicate: isDuplicate)))
  }

  /// Has the engine try a file again that the batch has put in line.
  func retry(_ transfer: TransferID, as file: String, in id: String) {
    guard (try? engine.retry(transfer)) == nil else { return }
    // Its row is lost, and with it what was to be done.
    _ = try? change(id) { batch in
      if batch.has(transfer, as: file) { batch.moved(file, to: .failed) }
    }
    engine.poke(batch: id)
  }

  /// Deletes what was stored and nobody was told of.
  func delete(_ stored: [(remote: String, result: TransferResult)]) {
    // Ends with the last one deleted.
    Task { [engine] in
      await engine.whileActive { await Self.delete(stored, from: engine) }
    }
  }

  private static func delete(
    _ stored: [(remote: String, result: TransferResult)],
    from engine: TransferEngine
  ) async {
    for (remote, result) in stored {
      do throws(TransferError) {
        switch result {
        case .shared(let shared) where shared.timetoken == nil:
          try await engine.deleteFile(
            shared.file.id,
            name: shared.file.name,
            channel: shared.channel,
            remote: remote
          )
        case .stored(let stored):
          try await engine.delete(
            ObjectReference(path: stored.metadata.fullPath),
            on: remote
          )
        case .shared, .downloaded: break
        }
      } catch {
        // Gone already, or out of reach: nobody was told of it.
      }
    }
  }
}

extension Batch.File {
  /// Whether it is stored, and nobody was told of it.
  var isUnsent: Bool { state == .succeeded && !isSent && !isSending && !isInDoubt }
}

extension Array {
  /// Its elements in order, in arrays of at most so many.
  func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}

extension TransferError {
  /// No batch has this id.
  static func unknown(batch id: String) -> TransferError {
    TransferError(
      .unknownID,
      "There is no batch \"\(id)\"; make it with batch/create.",
      field: "/batchId"
    )
  }

  /// A batch of this id is another one.
  fileprivate static func duplicate(batch id: String) -> TransferError {
    TransferError(
      .duplicateBatch,
      "Batch \"\(id)\" exists with other parameters; choose another batchId, or "
        + "batch/clear it first.",
      field: "/batchId"
    )
  }
}
