import CLinux
import Glibc
import Synchronization
package import TransferModel

/// A file being written, seen by nobody until it is published under its own name.
///
/// It is `.<name>.<random>.part` in the target's folder, mode 0600, and locked (`flock`) as long
/// as this object lives, so that other processes can tell it from what a killed one left. Every
/// step goes through the folder's descriptor: a folder swapped meanwhile is not followed. An
/// object dropped before it was published or kept removes its file.
///
/// Writes may come from many threads; `publish`, `keep` and `discard` come once, after them.
package final class PartFile: Sendable {
  /// Where the file will be once published.
  package let targetPath: String
  /// Where the part is; valid until it is published, and empty for one without a name.
  package let path: String
  let folder: TargetFolder
  let partName: String
  let name: String
  let file: Descriptor
  let fate = Mutex(Fate.writing)

  /// What became of the part; only `writing` leads anywhere.
  enum Fate { case writing, published, kept, discarded }

  /// The open descriptor, for `FileCopy` and `FileScan`; valid as long as this object.
  package var number: Int32 { file.number }

  /// A path for the part of a target that nothing has, to be written down before it is created.
  package static func newPath(for targetPath: String) -> String {
    TargetFolder.parent(of: targetPath)
      + PartName.make(for: ObjectReference.lastComponent(of: targetPath))
  }

  /// Creates the part of a target.
  ///
  /// - Parameters:
  ///   - targetPath: absolute; its folder must exist.
  ///   - overwrite: whether a regular file or a symbolic link there may be replaced.
  ///   - roots: where the folder must lie after symbolic links.
  ///   - path: what `newPath` gave for the target, where it must be known before.
  /// - Returns: an empty file, locked.
  /// - Throws: `ERR_TARGET_EXISTS`, `ERR_INVALID_FILE_OBJECT` for a folder or a device there,
  ///   `ERR_FILE_NOT_FOUND` where the folder is missing, `ERR_FILE_ACCESS_DENIED`, `ERR_DISK_FULL`.
  package static func create(
    for targetPath: String,
    overwrite: Bool,
    within roots: Roots = .anywhere,
    at path: String? = nil
  ) throws(TransferError) -> PartFile {
    let (folder, name) = try TargetFolder.open(of: targetPath, within: roots)
    try folder.requireFree(name, overwrite: overwrite, targetPath: targetPath)
    let path = path ?? newPath(for: targetPath)
    let partName = ObjectReference.lastComponent(of: path)
    while true {
      let number = clinux_openat(
        folder.number,
        partName,
        O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
        0o600
      )
      let code = errno
      guard number >= 0 else {
        if code == EINTR { continue }
        throw .fromErrno(code, doing: "write", path: code == EEXIST ? path : targetPath)
      }
      let file = Descriptor(number: number)
      // Between the two calls another process may have taken it for a dead one's: it has removed
      // it by the time it lets go, and the part is made anew.
      guard FileLock.wait(number) != .held,
        try Descriptor.status(number, path: targetPath).st_nlink > 0
      else { continue }
      return PartFile(folder, partName: partName, name: name, targetPath: targetPath, file: file)
    }
  }

  /// Creates a part that has no name, for content that comes at once.
  ///
  /// Nobody ever has to remove it, nobody can keep it, and it can only become a new file.
  ///
  /// - Parameters: as for `create`.
  /// - Returns: an empty file; nil where the file system has none without a name.
  /// - Throws: what `create` throws.
  package static func createUnnamed(
    for targetPath: String,
    within roots: Roots = .anywhere
  ) throws(TransferError) -> PartFile? {
    let (folder, name) = try TargetFolder.open(of: targetPath, within: roots)
    try folder.requireFree(name, overwrite: false, targetPath: targetPath)
    let number = clinux_open_unnamed(folder.number, 0o600)
    guard number >= 0 else { return nil }
    let file = Descriptor(number: number)
    return PartFile(folder, partName: "", name: name, targetPath: targetPath, file: file)
  }

  /// Takes up a part that was kept.
  ///
  /// - Parameters:
  ///   - path: the part's own path.
  ///   - targetPath: its target, in the same folder.
  ///   - roots: where the folder must lie after symbolic links.
  /// - Returns: the part with what it holds, locked again.
  /// - Throws: `ERR_FILE_NOT_FOUND` where it is gone, `ERR_INVALID_FILE_OBJECT` where it is not the
  ///   regular file that was kept, `ERR_UNKNOWN` (retryable) while another process writes it.
  package static func reopen(
    _ path: String,
    for targetPath: String,
    within roots: Roots = .anywhere
  ) throws(TransferError) -> PartFile {
    let (folder, name) = try TargetFolder.open(of: targetPath, within: roots)
    let partName = ObjectReference.lastComponent(of: path)
    guard PartName.isOne(partName),
      TargetFolder.parent(of: path).utf8.elementsEqual(TargetFolder.parent(of: targetPath).utf8)
    else {
      throw TransferError(
        .invalidArgument,
        "'\(TransferError.shown(path))' is no part of '\(TransferError.shown(targetPath))'."
      )
    }
    let number = clinux_openat(
      folder.number,
      partName,
      O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
      0
    )
    guard number >= 0 else { throw .fromErrno(errno, doing: "go on with", path: path) }
    let file = Descriptor(number: number)
    guard FileLock.take(number) != .held else {
      var error = TransferError(
        .unknown,
        "'\(TransferError.shown(path))' is being written by another process; "
          + "try again when that has ended."
      )
      error.retryableOverride = true
      throw error
    }
    let status = try Descriptor.status(number, path: path)
    guard PartName.isOurs(status) else {
      throw TransferError(
        .invalidFileObject,
        "'\(TransferError.shown(path))' is not the part that was left; start the transfer anew."
      )
    }
    guard fchmod(number, 0o600) == 0 else {
      throw .fromErrno(errno, doing: "set the mode of", path: path)
    }
    return PartFile(folder, partName: partName, name: name, targetPath: targetPath, file: file)
  }

  private init(
    _ folder: TargetFolder,
    partName: String,
    name: String,
    targetPath: String,
    file: consuming Descriptor
  ) {
    self.folder = folder
    self.partName = partName
    self.name = name
    self.targetPath = targetPath
    self.file = file
    path = partName.isEmpty ? "" : TargetFolder.parent(of: targetPath) + partName
  }

  deinit { discard() }

  /// Writes all bytes at an offset.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(TransferError) {
    try Descriptor.write(number, at: offset, bytes, path: path)
  }

  /// Writes all bytes at an offset.
  package func write(_ bytes: [UInt8], at offset: Int64) throws(TransferError) {
    try bytes.withUnsafeBufferPointer { bytes throws(TransferError) in
      try write(UnsafeRawBufferPointer(bytes), at: offset)
    }
  }

  /// The bytes it has now.
  package func size() throws(TransferError) -> Int64 {
    Int64(try Descriptor.status(number, path: path).st_size)
  }

  /// What the file is called by its file system, whatever its name.
  package func inode() throws(TransferError) -> Int64 {
    Int64(bitPattern: UInt64(try Descriptor.status(number, path: path).st_ino))
  }

  /// Cuts it to a size, or extends it by zeros.
  package func truncate(to size: Int64) throws(TransferError) {
    guard ftruncate(number, Int(size)) == 0 else {
      throw .fromErrno(errno, doing: "cut", path: path)
    }
  }

  /// Reserves the space of a file of this size, which it does not show as its own size.
  ///
  /// - Throws: `ERR_DISK_FULL` before any byte moved; file systems that cannot reserve are let be.
  package func preallocate(_ size: Int64) throws(TransferError) {
    guard size > 0 else { return }
    while clinux_fallocate(number, 1, 0, size) != 0 {
      switch errno {
      case EINTR: continue
      case EOPNOTSUPP, ENOSYS, EINVAL: return
      default: throw .fromErrno(errno, doing: "reserve \(size) bytes for", path: targetPath)
      }
    }
  }

  /// Has the disk begin to write what came, so that syncing has little to wait for.
  package func beginWriteback(of range: Range<Int64>) {
    _ = clinux_begin_writeback(number, range.lowerBound, Int64(range.count))
  }

  /// Brings what was written to the disk (`fdatasync`).
  ///
  /// After an error the bytes may be lost although a second call succeeds: start anew.
  package func sync() throws(TransferError) {
    guard fdatasync(number) == 0 else { throw .fromErrno(errno, doing: "write to", path: path) }
  }
}
