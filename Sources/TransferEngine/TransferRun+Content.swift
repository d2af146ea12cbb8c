internal import Backends
internal import Configuration
internal import Crypto
internal import Glibc
internal import LocalFiles
internal import TransferModel

/// The steps on the host's side that transfers over HTTP have in common.
extension TransferRun {
  /// Sources up to so many bytes are hashed before they are sent, so that the digest can travel
  /// with them; larger ones while they are sent.
  private static let hashedFirstLimit: Int64 = 16 << 20

  /// Sources up to so many bytes are read once and held, of which there are no more than slots.
  private static let heldLimit: Int64 = 64 << 10

  func perform(_ operation: ContentOperation) async throws(TransferError) -> StepOutcome {
    switch operation {
    case .openSource:
      return .sourceOpened(try await openOutgoing())
    case .encryptSource(let cipher):
      return .sourceOpened(try await encryptSource(with: cipher))
    case .verifySource:
      try source?.verifyUnchanged()
      return .sourceVerified
    case .openTarget(let incoming):
      return try await openTarget(incoming)
    case .write(let bytes, let offset):
      try await take(bytes, at: offset)
      return .written
    case .finishTarget:
      return .targetFinished(try await finishTarget())
    case .remember:
      await keepCheckpoint(awaited: true)
      return .remembered
    }
  }

  private func openOutgoing() async throws(TransferError) -> OutgoingContent {
    switch spec.source {
    case .stream(let size): source = try await spool(size: size)
    case .path, .spool, .bytes, nil: try openSource()
    }
    let size = outgoingSize
    heldSource = try source.flatMap { source throws(TransferError) in
      source.size <= Self.heldLimit ? try source.readAll() : nil
    }
    if spec.computesDigest { try await hashOutgoing(size) }
    if case .spool = spec.source { try requireWholeSpool(size) }
    slot.set(total: size)
    return OutgoingContent(
      size: size,
      sha256: hasher?.sha256Hex,
      identity: spec.isStream ? RandomID.make() : spec.origin.sourceIdentity
    )
  }

  var outgoingSize: Int64 {
    if let source { return source.size }
    if case .bytes(let bytes) = spec.source { return Int64(bytes.count) }
    return 0
  }

  private func hashOutgoing(_ size: Int64) async throws(TransferError) {
    guard let source, heldSource == nil else {
      hasher = ContentHasher(crc32c: true)
      if case .bytes(let bytes) = spec.source { hasher?.update(bytes) }
      if let heldSource { hasher?.update(heldSource) }
      return keepSum(size)
    }
    if size <= Self.hashedFirstLimit {
      hasher = try await hash(of: source.number, upTo: size, crc32c: true)
      keepSum(size)
    } else {
      following = FrontierDigest(
        of: source.number,
        owner: source,
        ContentHasher(),
        on: environment.pool
      )
    }
  }

  /// A request that sends all of it may want its checksum.
  private func keepSum(_ size: Int64) {
    wholeSum = hasher?.crc32c.map { ExchangeBytes.Sum(range: 0..<size, crc32c: $0) }
  }

  /// The sha256 of an upload's source, once all of it is read; nil where it changed meanwhile.
  func outgoingDigest() async throws(TransferError) -> String? {
    if following == nil { return hasher?.sha256Hex }
    try await finishFollowing()
    // It is stored already; what was read after that may be something else.
    return (try? source?.verifyUnchanged()) == nil ? nil : hasher?.sha256Hex
  }

  func finishFollowing() async throws(TransferError) {
    guard let following else { return }
    following.read(upTo: outgoingSize)
    hasher = try await following.finish()
    self.following = nil
  }

  /// Writes what the host brings to a file that has no name, since a remote wants to know the
  /// length first and may have to be sent the bytes again.
  private func spool(size: Int64?) async throws(TransferError) -> SourceFile {
    if part == nil {
      part = try PartFile.create(for: environment.temporaryPath(), overwrite: false)
      offset = 0
    }
    guard let part else { preconditionFailure("just made") }
    try await forEachPieceOfStream(size: size) { piece throws(TransferError) in
      try part.write(piece, at: offset)
      offset += Int64(piece.count)
    }
    let file = try SourceFile.open(part.path)
    self.part = nil
    return file
  }

  private func openTarget(_ incoming: IncomingContent) async throws(TransferError) -> StepOutcome {
    self.incoming = incoming
    remoteName = incoming.name
    range = 0..<(incoming.size ?? 0)
    if let size = incoming.size { slot.set(total: size) }
    hasher = spec.computesDigest ? ContentHasher(md5: incoming.md5 != nil) : nil
    // Of a target that is begun anew.
    following?.cancel()
    following = nil
    offset = 0
    collected = []
    decryptor = incoming.cipher?.decryptor()
    switch spec.target {
    case .inline(let maxSize):
      // How much a ciphertext holds is known at its end.
      if decryptor == nil { try requireInline(incoming.size ?? 0, maxSize) }
      return .targetOpened(isKept: false)
    case .stream:
      return .targetOpened(isKept: false)
    case .path, .temporary, nil:
      return try await openPart(of: incoming)
    }
  }

  private func openPart(of incoming: IncomingContent) async throws(TransferError) -> StepOutcome {
    let (path, overwrite, _) = try targetFile()
    let roots = try Roots(spec.target == .temporary ? [] : remotes.limits(of: spec.remote).roots)
    if let kept, let old = kept.part, let target = kept.target {
      self.kept = nil
      let part = try? PartFile.reopen(old, for: target, within: roots)
      if kept.content == incoming.identity, target == path {
        if decryptor == nil, kept.isOfThisBoot, let part {
          self.part = part
          inHand.part = part.path
          inHand.target = path
          inHand.content = incoming.identity
          inHand.inode = try part.inode()
          isTakenUp = true
          return .targetOpened(isKept: true)
        }
        if part == nil, try await isInPlace(kept, incoming, at: path, within: roots) {
          return .targetFinished(result(path: path, isTemporary: spec.target == .temporary))
        }
      }
      part?.discard()
      if spec.target == .temporary { unlink(path) }
    }
    if let kept, kept.part == nil {
      // Of a small one nobody knew; by its digest it may be found.
      self.kept = nil
      if try await isInPlace(kept, incoming, at: path, within: roots) {
        return .targetFinished(result(path: path, isTemporary: spec.target == .temporary))
      }
    }
    isTakenUp = false
    if let size = incoming.size, size <= AdmissionQueue.smallLimit, !overwrite {
      // Fetched again rather than gone on with, so nobody need know of its part.
      do throws(TransferError) {
        part = try PartFile.createUnnamed(for: path, within: roots)
      } catch {
        throw error.during(.prepare)
      }
      if part != nil { return .targetOpened(isKept: false) }
    }
    let new = try await makePart(of: path, overwrite: overwrite, within: roots, incoming.identity)
    if let size = incoming.size, decryptor == nil { try new.preallocate(size) }
    part = new
    return .targetOpened(isKept: false)
  }

  /// Whether a file is what this download makes: an earlier process renamed the part and was killed
  /// before it could say so.
  ///
  /// It is the part by its inode, or the content by its digest.
  private func isInPlace(
    _ kept: RunState,
    _ incoming: IncomingContent,
    at path: String,
    within roots: Roots
  ) async throws(TransferError) -> Bool {
    guard let file = try? SourceFile.open(path, within: roots),
      decryptor != nil || incoming.size.map({ $0 == file.size }) ?? true
    else { return false }
    let isSame = kept.inode.map { UInt64(bitPattern: $0) == file.identity.inode } ?? false
    guard isSame || decryptor == nil && (incoming.sha256 ?? incoming.md5) != nil,
      let found = try await hash(
        of: file.number,
        upTo: file.size,
        md5: incoming.md5 != nil,
        isNeeded: true
      )
    else { return false }
    do throws(TransferError) { try incoming.verify(found) } catch { return false }
    if hasher != nil { hasher = found }
    range = 0..<file.size
    slot.set(loaded: slot.total ?? file.size)
    return true
  }

  /// A piece that came through memory.
  private func take(_ bytes: [UInt8], at position: Int64) async throws(TransferError) {
    guard let decryptor else { return try await write(bytes, at: position) }
    for start in stride(from: 0, to: bytes.count, by: Self.cipherPiece) {
      let piece = Array(bytes[start..<min(start + Self.cipherPiece, bytes.count)])
      try await write(decrypted(piece, by: decryptor), at: offset)
    }
  }

  /// A piece of what the target is to hold.
  private func write(_ bytes: [UInt8], at position: Int64) async throws(TransferError) {
    if let part {
      try part.write(bytes, at: position)
      if position == offset, following == nil, !isTakenUp {
        hasher?.update(bytes)
        offset += Int64(bytes.count)
      } else {
        follow(position..<position + Int64(bytes.count))
      }
      return
    }
    precondition(position == offset, "targets other than files take bytes in order")
    switch spec.target {
    case .inline(let maxSize):
      try requireInline(offset + Int64(bytes.count), maxSize)
      collected += bytes
    case .stream:
      guard let pipe else { preconditionFailure("a stream without its pipe") }
      try await pipe.write(bytes)
    case .path, .temporary, nil:
      preconditionFailure("a file that was not opened")
    }
    hasher?.update(bytes)
    offset += Int64(bytes.count)
  }

  /// Bytes came to be in the part without passing through here.
  func follow(_ range: Range<Int64>) {
    guard let part, hasher != nil, !isTakenUp else { return }
    if following == nil, range.lowerBound < offset {
      // It is fetched whole although its beginning was there.
      hasher = ContentHasher(md5: incoming?.md5 != nil)
      offset = 0
    }
    guard let hasher else { return }
    if following == nil {
      following = FrontierDigest(
        of: part.number,
        owner: part,
        from: offset,
        hasher,
        on: environment.pool
      )
    }
    following?.add(range)
  }

  private func finishTarget() async throws(TransferError) -> TransferResult.Download {
    if let decryptor { try await write(decrypted(nil, by: decryptor), at: offset) }
    if let part { range = 0..<(try part.size()) } else { range = 0..<offset }
    if decryptor == nil, let size = incoming?.size, Int64(range.count) != size {
      throw TransferError(
        .checksumMismatch,
        "\(range.count) bytes came and \(size) were announced; fetch it again."
      )
    }
    if let following {
      _ = try await following.finish()
      self.following = nil
    } else if isTakenUp, let part {
      hasher = try await hash(of: part.number, upTo: Int64(range.count), md5: incoming?.md5 != nil)
    }
    if let hasher { try incoming?.verify(hasher) }
    // What came, which of a ciphertext is more than what it holds.
    slot.set(loaded: decryptor == nil ? Int64(range.count) : slot.total ?? offset)
    guard let part else {
      if spec.target == .stream {
        pipe?.finish()
        return result()
      }
      return result(data: collected)
    }
    let (path, overwrite, mode) = try targetFile()
    try await publish(part, overwrite: overwrite, mode: mode)
    return result(path: path, isTemporary: spec.target == .temporary)
  }
}

extension IncomingContent {
  /// Compares what is known of the content with the digests of what came.
  fileprivate func verify(_ hasher: ContentHasher) throws(TransferError) {
    let pairs = [("sha256", sha256, hasher.sha256Hex), ("md5", md5, hasher.md5Hex)]
    for case (let name, let expected?, let found?) in pairs where expected != found {
      throw TransferError(
        .checksumMismatch,
        "What came differs from what was stored: its \(name) is \(found), expected \(expected). "
          + "Fetch it again; if that fails too, the stored copy is damaged: store it again."
      )
    }
  }
}
