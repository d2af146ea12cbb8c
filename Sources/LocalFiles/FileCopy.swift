import CLinux
import Glibc
import Synchronization
package import TransferModel

/// One copy from file to file by the fastest way the two file systems know.
///
/// It remembers for the rest of the copy that the kernel's own way does not work.
package final class FileCopy: Sendable {
  private let kernelRefused = Atomic<Bool>(false)
  /// The size of the file where it is cloned; -1 where it is not.
  private let clonedBytes = Atomic<Int64>(-1)

  /// The bytes of the buffer where the kernel does not copy by itself.
  private static let bufferBytes = 1 << 20

  /// Starts with the kernel's own way untried.
  package init() {}

  /// Tries to make the whole file share the other's extents.
  ///
  /// That takes no time and no space, on btrfs and XFS. Slices of a file that is cloned have nothing left to copy.
  ///
  /// - Returns: false where the file systems cannot; then nothing was changed.
  @discardableResult
  package func clone(from source: Int32, to target: Int32) -> Bool {
    guard clinux_ficlone(target, source) == 0 else { return false }
    var info = stat()
    guard fstat(target, &info) == 0 else { return false }
    clonedBytes.store(Int64(info.st_size), ordering: .relaxed)
    return true
  }

  /// Copies a range by copy_file_range(2), or by reading and writing.
  ///
  /// Between two looks at a cancel or a pause passes one slice: a few dozen MiB are right.
  ///
  /// - Returns: the bytes copied; fewer than `length` only where the source ended.
  /// - Throws: `ERR_DISK_FULL` and what else system calls fail with.
  package func copySlice(
    from source: Int32,
    at sourceOffset: Int64,
    to target: Int32,
    at targetOffset: Int64,
    length: Int
  ) throws(TransferError) -> Int {
    let cloned = clonedBytes.load(ordering: .relaxed)
    if cloned >= 0 { return Int(min(Int64(length), max(0, cloned - sourceOffset))) }
    // While more is copied the disk writes, and the sync at the end has little to wait for.
    defer { _ = clinux_begin_writeback(target, targetOffset, Int64(length)) }
    var done = 0
    while done < length, !kernelRefused.load(ordering: .relaxed) {
      let count = clinux_copy_file_range(
        source,
        sourceOffset + Int64(done),
        target,
        targetOffset + Int64(done),
        length - done
      )
      if count > 0 {
        done += count
        continue
      }
      let code = errno
      if count == 0 { break }
      switch code {
      case EINTR: continue
      case EXDEV, EINVAL, EOPNOTSUPP, ENOSYS, ETXTBSY, EPERM:
        kernelRefused.store(true, ordering: .relaxed)
      default:
        throw .fromErrno(code, doing: "write to", path: Descriptor.path(of: target) ?? "a file")
      }
    }
    // Also at the kernel's end of the file: of files of /proc it copies nothing and says so by 0.
    guard done < length else { return done }
    return try done
      + readAndWrite(
        from: source,
        at: sourceOffset + Int64(done),
        to: target,
        at: targetOffset + Int64(done),
        length: length - done
      )
  }

  /// Writes all bytes at an offset.
  package static func write(
    _ bytes: UnsafeRawBufferPointer,
    to target: Int32,
    at offset: Int64
  ) throws(TransferError) {
    try Descriptor.write(target, at: offset, bytes, path: nil)
  }

  private func readAndWrite(
    from source: Int32,
    at sourceOffset: Int64,
    to target: Int32,
    at targetOffset: Int64,
    length: Int
  ) throws(TransferError) -> Int {
    try FileScan.forEachChunk(
      of: source,
      in: sourceOffset..<(sourceOffset + Int64(length)),
      bufferBytes: Self.bufferBytes
    ) { chunk, offset throws(TransferError) in
      try Descriptor.write(
        target,
        at: targetOffset + (offset - sourceOffset),
        chunk,
        path: nil
      )
    }
  }
}
