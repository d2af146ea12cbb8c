internal import Backends
internal import Crypto
internal import LocalFiles
internal import TransferModel

/// Content that is encrypted before it is sent, and decrypted while it comes.
extension TransferRun {
  /// Little enough that a piece and what it makes stay in the processor's own cache, and that the
  /// allocator keeps the memory at hand.
  static let cipherPiece = 64 << 10

  /// Puts the source's ciphertext in its place: a file of ours that has no name.
  func encryptSource(with cipher: ContentCipher) async throws(TransferError) -> OutgoingContent {
    let part = try PartFile.create(for: environment.temporaryPath(), overwrite: false)
    let encryptor = cipher.encryptor()
    var written: Int64 = 0
    // Of the plain content, while that is the source.
    following?.read(upTo: outgoingSize)
    wholeSum = nil
    func keep(_ ciphertext: [UInt8]) throws(TransferError) {
      try part.write(ciphertext, at: written)
      written += Int64(ciphertext.count)
    }
    try forEachPieceOfSource { piece throws(TransferError) in try keep(encryptor.update(piece)) }
    let rest: [UInt8]
    do throws(CipherError) {
      rest = try encryptor.finish()
    } catch {
      throw TransferError(.encryptionFailed, "The content cannot be encrypted: \(error.words).")
    }
    try keep(rest)
    try await finishFollowing()
    try source?.verifyUnchanged()
    source = try SourceFile.open(part.path)
    heldSource = nil
    slot.set(total: written)
    return OutgoingContent(size: written, identity: spec.origin.sourceIdentity)
  }

  private func forEachPieceOfSource(
    _ body: (UnsafeRawBufferPointer) throws(TransferError) -> Void
  ) throws(TransferError) {
    if source == nil, case .bytes(let bytes) = spec.source {
      var failure: TransferError?
      bytes.withUnsafeBytes { bytes in
        do throws(TransferError) { try body(bytes) } catch { failure = error }
      }
      if let failure { throw failure }
      return
    }
    guard let source else { preconditionFailure("encrypted before it was opened") }
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Self.cipherPiece,
      alignment: 64
    )
    defer { buffer.deallocate() }
    var position: Int64 = 0
    while position < source.size {
      try stopIfAsked()
      let count = try source.read(at: position, into: buffer)
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      position += Int64(count)
    }
  }

  /// The plain bytes that the next ciphertext, or its end (nil), makes.
  func decrypted(
    _ bytes: [UInt8]?,
    by decryptor: Decryptor
  ) throws(TransferError) -> [UInt8] {
    do throws(CipherError) {
      if let bytes { return try decryptor.update(bytes) }
      return try decryptor.finish()
    } catch {
      throw TransferError(
        .decryptionFailed,
        "\"\(remoteName)\" cannot be decrypted: \(error.words). Nothing of it is kept.",
        phase: .download
      )
    }
  }
}
