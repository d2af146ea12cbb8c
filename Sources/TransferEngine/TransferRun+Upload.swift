internal import Backends
internal import Configuration
internal import LocalFiles
internal import LocalStore
internal import TransferModel

/// The steps of an upload: source → staged content → object or file.
extension TransferRun {
  /// Files up to so many bytes are read once, hashed and written; larger ones are copied by the
  /// kernel while a second thread hashes them.
  private static let bufferedLimit: Int64 = 256 << 10

  func stage(in store: LocalStore) throws(TransferError) {
    guard let wanted = spec.source else { preconditionFailure("a download stages nothing") }
    if case .path(let path) = wanted {
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
    }
    staging = try store.stage(expectedSize: slot.total)
    hasher = spec.computesDigest ? ContentHasher(md5: true) : nil
  }

  func fill() async throws(TransferError) {
    guard let staging, let wanted = spec.source else {
      preconditionFailure("filled before it was staged")
    }
    switch wanted {
    case .path: try await fillFromFile(staging)
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
    try staging.sync()
    let metadata = try await store.publishObject(
      staging,
      ref: reference,
      settable: settable,
      condition: condition,
      size: offset,
      sha256: hasher?.sha256Hex,
      md5: hasher?.md5Hex
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
    try staging.sync()
    let file = try await store.publishFile(
      staging,
      channel: channel,
      name: name,
      contentType: contentType,
      size: offset,
      sha256: hasher?.sha256Hex,
      md5: hasher?.md5Hex
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
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
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
    while offset < source.size {
      let length = try await slice(of: source.size - offset)
      let range = offset..<offset + Int64(length)
      // The pages just read are hashed by a second thread while this one has them copied.
      async let hashing = hasher?.update(from: source.number, in: range)
      let copied = Result { () throws(TransferError) in
        try copy.copySlice(
          from: source.number,
          at: range.lowerBound,
          to: staging.descriptor,
          at: range.lowerBound,
          length: length
        )
      }
      if let error = await hashing { throw error }
      let count = try copied.get()
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

  private func fillFromStream(_ staging: Staging, size: Int64?) async throws(TransferError) {
    guard let pipe else { preconditionFailure("a stream without its pipe") }
    let limit = try remotes.limits(of: spec.remote).maxFileSize
    while true {
      let length = try await slice(of: .max)
      guard let piece = try await pipe.take(upTo: length) else { break }
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
      try write(piece[...], to: staging)
    }
    if let size, offset < size {
      throw TransferError(
        .fileChanged,
        "The stream was announced with \(size) bytes and ended after \(offset)."
      )
    }
    slot.set(total: offset)
  }
}
