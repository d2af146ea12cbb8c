internal import CLinux
package import TransferModel

/// Reading a range of a file piece by piece, to hash or to copy it.
package enum FileScan {
  /// The bytes a file has now.
  package static func size(of descriptor: Int32) throws(TransferError) -> Int64 {
    Int64(
      try Descriptor.status(descriptor, path: Descriptor.path(of: descriptor) ?? "a file").st_size
    )
  }

  /// Calls `body` with each piece in order and its offset in the file.
  ///
  /// The memory of a piece is used again for the next one.
  ///
  /// - Parameters:
  ///   - descriptor: open for reading.
  ///   - range: half-open, in bytes; it may reach past the end.
  ///   - bufferBytes: the size of a piece; the last one may be smaller.
  ///   - body: takes the piece; what it throws ends the scan.
  /// - Returns: the bytes read; fewer than the range has only where the file ended.
  /// - Throws: what `body` throws, and what reading fails with.
  @discardableResult
  package static func forEachChunk(
    of descriptor: Int32,
    in range: Range<Int64>,
    bufferBytes: Int = 256 << 10,
    _ body: (UnsafeRawBufferPointer, _ offset: Int64) throws(TransferError) -> Void
  ) throws(TransferError) -> Int {
    let size = Int(min(Int64(bufferBytes), range.upperBound - range.lowerBound))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let wanted = Int(min(Int64(size), range.upperBound - offset))
      let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
      let count = try Descriptor.read(descriptor, at: offset, into: piece, path: nil)
      if count > 0 { try body(UnsafeRawBufferPointer(rebasing: piece[..<count]), offset) }
      offset += Int64(count)
      if count < wanted { break }
    }
    return Int(offset - range.lowerBound)
  }
}
