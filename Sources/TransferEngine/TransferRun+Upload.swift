internal import Backends
internal import Configuration
internal import LocalFiles
internal import LocalStore
internal import TransferModel

/// The steps of an upload: source → staged content → object or file.
extension TransferRun {
  /// Files up to so many bytes are read once, hashed and written; larger ones are copied by the
  /// kernel while another thread hashes them.
  private static let bufferedLimit: Int64 = 256 << 10

  /// Finds out how far an earlier process came, and takes up what it staged.
  func recover(_ kept: RunState) async throws(TransferError) -> Recovered {
    guard let id = kept.staging else { return .nothing }
    let store = try remotes.local(spec.remote)
    switch try await store.recover(id) {
    case .object(let metadata):
      return .objectPublished(metadata, url: store.url(content: id))
    case .file(let file, let announced):
      return .filePublished(file, url: store.url(content: id), announced: announced)
    case .nothing:
      // A stream's host brings all of it again.
      if staging == nil { staging = try store.reopen(id) }
      guard let staging else { return .nothing }
      guard kept.isOfThisBoot, !spec.isStream else {
        staging.discard()
        self.staging = nil
        return .nothing
      }
      inHand.staging = id
      try openSource()
      try await takeUp(staging)
      return .staged
    }
  }

  /// Counts what is staged already; stopped meanwhile, it is hashed again.
  private func takeUp(_ staging: Staging) async throws(TransferError) {
    let size = try FileScan.size(of: staging.descriptor)
    hasher = spec.computesDigest ? ContentHasher() : nil
    hasher = try await hash(of: staging.descriptor, upTo: size)
    offset = size
    slot.set(loaded: size)
  }

  func stage(in store: LocalStore) async throws(TransferError) {
    try openSource()
    let new = try store.stage(expectedSize: slot.total)
    staging = new
    hasher = spec.computesDigest ? ContentHasher() : nil
    inHand.staging = new.id
    // Small content is sent again rather than gone on with, and its part swept by the next start;
    // a large part would lie about for a day if nobody knew of it.
    if (slot.total ?? .max) > AdmissionQueue.smallLimit { await remember(awaited: true) }
  }

  /// Opens a source that is a file.
  func openSource() throws(TransferError) {
    switch spec.source {
    case .path(let path):
      let roots = try Roots(remotes.limits(of: spec.remote).roots)
      let file = try SourceFile.open(path, within: roots)
      guard file.identity.description == spec.origin.sourceIdentity else {
        throw TransferError(
          .fileChanged,
          "\"\(path)\" changed after it was queued; send it again.",
          phase: .prepare
        )
      }
      source = file
    case .spool(let path):
      source = try SourceFile.open(path)
    case .bytes, .stream:
      break
    case nil:
      preconditionFailure("a download has no source")
    }
  }

  /// Syncs large content here, so that it delays no other's publishing, and writes down what must
  /// not happen twice.
  private func prepareToPublish(
    _ staging: Staging,
    isConditional: Bool
  ) async throws(TransferError) {
    if case .spool = spec.source { try requireWholeSpool(offset) }
    if offset > AdmissionQueue.smallLimit { try staging.sync() }
    bytesMoved()
    if spec.channel != nil || isConditional { await remember(awaited: true) }
  }

  /// What a spool holds was not synced, so a power cut may have cut or emptied it.
  func requireWholeSpool(_ size: Int64) throws(TransferError) {
    let isWhole = slot.total.map { $0 == size } ?? true
    let isSame = hasher.map { $0.sha256Hex == spec.origin.sourceIdentity } ?? true
    guard isWhole, isSame else {
      throw TransferError(
        .fileChanged,
        "The content that was kept for this transfer is damaged; send it again."
      )
    }
  }

  func fill() async throws(TransferError) {
    guard let staging, let wanted = spec.source else {
      preconditionFailure("filled before it was staged")
    }
    switch wanted {
    case .path, .spool: try await fillFromFile(staging)
    case .bytes(let bytes): try await fill(staging, from: bytes)
    case .stream(let size): try await fillFromStream(staging, size: size)
    }
  }

  func publish(
    in store: LocalStore,
    as reference: ObjectReference,
    _ settable: SettableMetadata,
    _ condition: WriteCondition
  ) async throws(TransferError) -> StepOutcome {
    guard let staging else { preconditionFailure("published before it was staged") }
    try await prepareToPublish(staging, isConditional: condition != WriteCondition())
    let metadata = try await store.publishObject(
      staging,
      ref: reference,
      settable: settable,
      condition: condition,
      size: offset,
      sha256: hasher?.sha256Hex
    )
    self.staging = nil
    return .objectPublished(metadata, url: store.url(content: metadata.etag))
  }

  func publish(
    in store: LocalStore,
    on channel: String,
    name: String,
    contentType: String
  ) async throws(TransferError) -> StepOutcome {
    guard let staging else { preconditionFailure("published before it was staged") }
    try await prepareToPublish(staging, isConditional: false)
    let file = try await store.publishFile(
      staging,
      channel: channel,
      name: name,
      contentType: contentType,
      size: offset,
      sha256: hasher?.sha256Hex
    )
    self.staging = nil
    return .filePublished(file, url: store.url(content: file.id))
  }

  private func fillFromFile(_ staging: Staging) async throws(TransferError) {
    guard let source else { preconditionFailure("a path without its file") }
    if source.size <= Self.bufferedLimit {
      try await fillBuffered(staging, from: source)
    } else {
      try await fillByKernel(staging, from: source)
    }
    try source.verifyUnchanged()
    self.source = nil
  }

  private func fillBuffered(
    _ staging: Staging,
    from source: SourceFile
  ) async throws(TransferError) {
    while offset < source.size {
      let length = try await slice(of: source.size - offset)
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 64)
      defer { buffer.deallocate() }
      let count = try source.read(at: offset, into: buffer)
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      hasher?.update(bytes)
      try FileCopy.write(bytes, to: staging.descriptor, at: offset)
      advance(by: count)
    }
  }

  private func fillByKernel(
    _ staging: Staging,
    from source: SourceFile
  ) async throws(TransferError) {
    let copy = FileCopy()
    if offset == 0 { copy.clone(from: source.number, to: staging.descriptor) }
    while offset < source.size {
      let length = try await slice(of: source.size - offset)
      let count = try await copy.copySlice(
        from: source.number,
        at: offset,
        to: staging.descriptor,
        at: offset,
        length: length,
        hashedBy: hasher
      )
      guard count == length else {
        throw TransferError(
          .fileChanged,
          "\"\(source.path)\" became shorter while it was sent; send it again."
        )
      }
      advance(by: count)
    }
  }

  private func fill(_ staging: Staging, from bytes: [UInt8]) async throws(TransferError) {
    while offset < Int64(bytes.count) {
      let length = try await slice(of: Int64(bytes.count) - offset)
      try write(bytes[Int(offset)..<Int(offset) + length], to: staging)
    }
  }

  private func write(_ piece: ArraySlice<UInt8>, to staging: Staging) throws(TransferError) {
    let written = piece.withUnsafeBytes { bytes in
      hasher?.update(bytes)
      return Result { () throws(TransferError) in
        try FileCopy.write(bytes, to: staging.descriptor, at: offset)
      }
    }
    try written.get()
    advance(by: piece.count)
  }

  /// The next piece once the caps on bytes per second allow it; kept over a pause until then.
  private func nextPiece(of pipe: StreamPipe) async throws(TransferError) -> [UInt8]? {
    if pending == nil {
      try stopIfAsked()
      pending = try await pipe.take(upTo: sliceLimit)
    }
    if let pending { try await pay(for: pending.count) }
    return pending
  }

  private func fillFromStream(_ staging: Staging, size: Int64?) async throws(TransferError) {
    try await forEachPieceOfStream(size: size) { piece throws(TransferError) in
      try write(piece[...], to: staging)
    }
    slot.set(total: offset)
  }

  /// Takes what the host brings to the end, piece by piece; `body` counts it in `offset`.
  func forEachPieceOfStream(
    size: Int64?,
    _ body: ([UInt8]) throws(TransferError) -> Void
  ) async throws(TransferError) {
    guard let pipe else { preconditionFailure("a stream without its pipe") }
    let limit = try remotes.limits(of: spec.remote).maxFileSize
    while let piece = try await nextPiece(of: pipe) {
      let total = offset + Int64(piece.count)
      if let size, total > size {
        throw TransferError(
          .fileChanged,
          "The stream was announced with \(size) bytes and brought more."
        )
      }
      if let limit, total > limit {
        throw TransferError(
          .fileSizeExceeded,
          "The stream brought more than the \(limit) bytes that limits.maxFileSize allows."
        )
      }
      pending = nil
      try body(piece)
    }
    if let size, offset < size {
      throw TransferError(
        .fileChanged,
        "The stream was announced with \(size) bytes and ended after \(offset)."
      )
    }
  }
}
