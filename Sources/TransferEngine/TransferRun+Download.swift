internal import Configuration
internal import Glibc
internal import LocalFiles
internal import LocalStore
internal import TransferModel

/// The steps of a download: stored content → target.
extension TransferRun {
  /// The pieces a stream is offered in, in bytes.
  private static let streamPiece = 256 << 10

  /// Takes the content in hand.
  func open(_ content: StoredContent, range wanted: ByteRange?) throws(TransferError) {
    let size = content.size
    let start = wanted?.offset ?? 0
    guard start <= size else {
      throw TransferError(
        .invalidArgument,
        "The range starts at \(start); the object has \(size) bytes.",
        field: "/range/offset"
      )
    }
    let length = min(wanted?.length ?? .max, size - start)
    self.content = content
    range = start..<start + length
    slot.set(total: length)
    hasher = spec.computesDigest ? ContentHasher() : nil
  }

  /// Moves the content to the target, verifies it and puts it in place.
  func deliver() async throws(TransferError) -> TransferResult.Download {
    guard let content, let target = spec.target else {
      preconditionFailure("delivered before it was opened")
    }
    switch target {
    case .path, .temporary:
      let (path, overwrite, mode) = try targetFile()
      try await deliver(content, to: path, overwrite: overwrite, mode: mode)
      return result(path: path, isTemporary: target == .temporary)
    case .inline(let maxSize):
      try await collect(content, maxSize: maxSize)
      return result(data: collected)
    case .stream:
      try await stream(content)
      return result()
    }
  }

  /// The file a download makes: its path, whether it may replace another, and its permissions.
  func targetFile() throws(TransferError) -> (path: String, overwrite: Bool, mode: UInt32) {
    switch spec.target {
    case .path(let wanted, let overwrite):
      // A folder: the remote's name, made harmless, is the file's.
      let path = wanted.hasSuffix("/") ? wanted + SafeName.component(remoteName) : wanted
      return (path, overwrite, 0o666)
    case .temporary:
      let known = part?.targetPath ?? kept?.target
      let path = if let known { known } else { try environment.temporaryPath() }
      return (path, false, 0o600)
    case .inline, .stream, nil:
      preconditionFailure("no file is made")
    }
  }

  private func deliver(
    _ content: StoredContent,
    to path: String,
    overwrite: Bool,
    mode: UInt32
  ) async throws(TransferError) {
    if part == nil { try await openPart(of: path, overwrite: overwrite, content) }
    guard let part else { return slot.set(loaded: Int64(range.count)) }
    let copy = FileCopy()
    if offset == 0, range == 0..<content.size {
      copy.clone(from: content.descriptor, to: part.number)
    }
    while offset < Int64(range.count) {
      let length = try await slice(of: Int64(range.count) - offset)
      let start = range.lowerBound + offset
      let count = try await copy.copySlice(
        from: content.descriptor,
        at: start,
        to: part.number,
        at: offset,
        length: length,
        hashedBy: hasher
      )
      guard count == length else { throw Self.truncated }
      advance(by: length)
    }
    try verify(content)
    try await publish(part, overwrite: overwrite, mode: mode)
  }

  /// Puts what came in place: small files together with others, while more are fetched.
  func publish(_ part: PartFile, overwrite: Bool, mode: UInt32) async throws(TransferError) {
    if range.count <= AdmissionQueue.smallLimit {
      try await environment.publisher.publish(part, overwrite: overwrite, mode: mode) {
        bytesMoved()
      }
    } else {
      try part.publish(overwrite: overwrite, mode: mode)
    }
    self.part = nil
  }

  /// Makes the part, or takes up the one that an earlier process left of the same content; none
  /// where that process had put it in place already.
  private func openPart(
    of path: String,
    overwrite: Bool,
    _ content: StoredContent
  ) async throws(TransferError) {
    let roots = try Roots(spec.target == .temporary ? [] : remotes.limits(of: spec.remote).roots)
    if let kept, let old = kept.part, let target = kept.target {
      self.kept = nil
      part = try? PartFile.reopen(old, for: target, within: roots)  // gone: begin anew
      if kept.content == content.id, target == path {
        if kept.isOfThisBoot, let part { return try await takeUp(part, content) }
        if part == nil, !overwrite, try isInPlace(content, at: path) { return }
      }
      part = nil
      if spec.target == .temporary { unlink(path) }
    }
    let new = try await makePart(of: path, overwrite: overwrite, within: roots, content.id)
    part = new
    try new.preallocate(Int64(range.count))
  }

  /// Makes the part of a target for content of an identity.
  func makePart(
    of path: String,
    overwrite: Bool,
    within roots: Roots,
    _ identity: String
  ) async throws(TransferError) -> PartFile {
    inHand.part = PartFile.newPath(for: path)
    inHand.target = path
    inHand.content = identity
    // In somebody else's folder: it must not be forgotten there.
    await remember(awaited: true)
    do throws(TransferError) {
      let new = try PartFile.create(
        for: path,
        overwrite: overwrite,
        within: roots,
        at: inHand.part
      )
      inHand.inode = try new.inode()
      await remember(awaited: false)
      return new
    } catch {
      throw error.during(.prepare)
    }
  }

  private func takeUp(_ part: PartFile, _ content: StoredContent) async throws(TransferError) {
    inHand.part = part.path
    inHand.target = part.targetPath
    inHand.content = content.id
    let size = min(try part.size(), Int64(range.count))
    hasher = try await hash(of: part.number, upTo: size)
    offset = size
    slot.set(loaded: size)
  }

  /// Whether a file is what this download makes: an earlier process renamed the part and was killed
  /// before it could say so.
  private func isInPlace(
    _ content: StoredContent,
    at path: String
  ) throws(TransferError) -> Bool {
    guard let file = try? SourceFile.open(path), file.size == Int64(range.count) else {
      return false  // nothing there, or something else, which the part's making will report
    }
    let wanted = ContentHasher()
    if let error = wanted.update(from: content.descriptor, in: range) { throw error }
    let found = ContentHasher()
    if let error = found.update(from: file.number, in: 0..<file.size) { throw error }
    guard found.sha256Hex == wanted.sha256Hex else { return false }
    if hasher != nil { hasher = found }
    offset = file.size
    return true
  }

  private func collect(_ content: StoredContent, maxSize: Int64) async throws(TransferError) {
    try requireInline(Int64(range.count), maxSize)
    try await forEachPiece(of: content, Self.streamPiece) { piece in
      self.collected += piece
    }
    try verify(content)
  }

  /// Refuses content that a reply has no room for.
  func requireInline(_ size: Int64, _ maxSize: Int64) throws(TransferError) {
    guard size <= maxSize else {
      throw TransferError(
        .downloadSizeExceeded,
        "The content has \(size) bytes and inline content may have \(maxSize); use a path, a "
          + "temporary file or a stream as target.",
        phase: .prepare
      )
    }
  }

  private func stream(_ content: StoredContent) async throws(TransferError) {
    guard let pipe else { preconditionFailure("a stream without its pipe") }
    try await forEachPiece(of: content, Self.streamPiece) { piece throws(TransferError) in
      try await pipe.write(piece)
    }
    try verify(content)
    pipe.finish()
  }

  /// Reads from where it stands to the end; a piece counts as moved once `body` took it.
  private func forEachPiece(
    of content: StoredContent,
    _ limit: Int,
    _ body: ([UInt8]) async throws(TransferError) -> Void
  ) async throws(TransferError) {
    while offset < Int64(range.count) {
      let length = try await slice(of: min(Int64(range.count) - offset, Int64(limit)))
      let start = range.lowerBound + offset
      var piece: [UInt8] = []
      piece.reserveCapacity(length)
      try FileScan.forEachChunk(of: content.descriptor, in: start..<start + Int64(length)) {
        chunk,
        _ throws(TransferError) in piece += chunk
      }
      guard piece.count == length else { throw Self.truncated }
      hasher?.update(piece)
      try await body(piece)
      advance(by: length)
    }
  }

  /// Compares the digest of what was moved with what the remote stored.
  private func verify(_ content: StoredContent) throws(TransferError) {
    guard let hasher, let stored = content.sha256, range == 0..<content.size else { return }
    guard hasher.sha256Hex == stored else {
      throw TransferError(
        .checksumMismatch,
        "The content differs from what was stored: its sha256 is \(hasher.sha256Hex), expected "
          + "\(stored). The stored copy is damaged; store it again."
      )
    }
  }

  /// What a download has to tell.
  func result(
    path: String? = nil,
    isTemporary: Bool = false,
    data: [UInt8]? = nil
  ) -> TransferResult.Download {
    .init(
      path: path,
      isTemporary: isTemporary,
      size: Int64(range.count),
      sha256: hasher?.sha256Hex,
      metadata: nil,
      data: data
    )
  }

  private static var truncated: TransferError {
    TransferError(
      .checksumMismatch,
      "The stored content is shorter than its entry says; store it again."
    )
  }
}
