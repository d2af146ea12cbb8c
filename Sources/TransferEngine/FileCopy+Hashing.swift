internal import LocalFiles
internal import TransferModel

extension FileCopy {
  /// Copies a slice, as without a hasher, while another thread hashes the pages just read.
  ///
  /// Bound to no actor: the other thread would ask it for the hasher, and wait until it has copied.
  func copySlice(
    from source: Int32,
    at sourceOffset: Int64,
    to target: Int32,
    at targetOffset: Int64,
    length: Int,
    hashedBy hasher: ContentHasher?
  ) async throws(TransferError) -> Int {
    async let hashing = hasher?.update(
      from: source,
      in: sourceOffset..<sourceOffset + Int64(length)
    )
    let copied = Result { () throws(TransferError) in
      try copySlice(
        from: source,
        at: sourceOffset,
        to: target,
        at: targetOffset,
        length: length
      )
    }
    if let error = await hashing { throw error }
    return try copied.get()
  }
}
