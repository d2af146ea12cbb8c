import CLinux
import Glibc
import Synchronization
package import TransferModel

extension PartFile {
  /// Gives the file its own name, in one step for everybody who looks.
  ///
  /// A symbolic link there is replaced itself; what it leads to is not touched. On failure the part
  /// stays and may be published again or dropped, unless the error says that the file is in its
  /// place: then it may be lost in a power cut.
  ///
  /// - Parameters:
  ///   - overwrite: whether a regular file or a symbolic link there may be replaced.
  ///   - mode: permissions, from which the process's umask takes away.
  ///   - durable: whether content and name are on the disk when this returns.
  /// - Throws: `ERR_TARGET_EXISTS`, `ERR_INVALID_FILE_OBJECT`, and what system calls fail with.
  package func publish(
    overwrite: Bool,
    mode: UInt32 = 0o666,
    durable: Bool = true
  ) throws(TransferError) {
    guard fate.withLock({ $0 }) == .writing else {
      throw TransferError(
        .cancelled,
        "'\(TransferError.shown(targetPath))' was given up before it was complete."
      )
    }
    try folder.requireFree(name, overwrite: overwrite, targetPath: targetPath)
    try releaseUnusedSpace()
    if durable { try sync() }
    guard fchmod(number, mode & ~Umask.value) == 0 else {
      throw .fromErrno(errno, doing: "set the mode of", path: path)
    }
    if partName.isEmpty {
      try linkUnnamed(overwrite: overwrite)
    } else if overwrite {
      guard renameat(folder.number, partName, folder.number, name) == 0 else {
        throw .fromErrno(errno, doing: "write", path: targetPath)
      }
    } else {
      try renameWithoutReplacing()
    }
    fate.withLock { $0 = .published }
    FileLock.release(number)
    if durable {
      try syncLink()
      try folder.sync(path: targetPath)
    }
  }

  /// Brings to the disk that a file without a name has one by now, which file systems without a
  /// journal write down in two places.
  func syncLink() throws(TransferError) {
    guard !partName.isEmpty || fsync(number) == 0 else {
      throw .unsettled(errno, path: targetPath)
    }
  }

  /// Leaves the part for a later `reopen`, unlocked as soon as this object goes.
  package func keep() {
    fate.withLock { if $0 == .writing { $0 = .kept } }
  }

  /// Removes the part; nothing where it was published, kept or discarded.
  package func discard() {
    let isMine = fate.withLock { fate in
      defer { if fate == .writing { fate = .discarded } }
      return fate == .writing
    }
    if isMine, !partName.isEmpty { unlinkat(folder.number, partName, 0) }
  }

  /// Space reserved behind the end would stay with the file for good.
  private func releaseUnusedSpace() throws(TransferError) {
    let status = try Descriptor.status(number, path: path)
    let size = Int64(status.st_size)
    let block = Int64(max(status.st_blksize, 1))
    let needed = (size + block - 1) / block * block
    if Int64(status.st_blocks) * 512 > needed { try truncate(to: size) }
  }

  private func linkUnnamed(overwrite: Bool) throws(TransferError) {
    precondition(!overwrite, "a link never replaces")
    let file = Descriptor.procLink(number)
    guard linkat(AT_FDCWD, file, folder.number, name, AT_SYMLINK_FOLLOW) == 0 else {
      throw .fromErrno(errno, doing: "write", path: targetPath)
    }
  }

  private func renameWithoutReplacing() throws(TransferError) {
    if clinux_renameat_noreplace(folder.number, partName, name) == 0 { return }
    let code = errno
    guard code == EINVAL || code == ENOSYS || code == EOPNOTSUPP else {
      throw .fromErrno(code, doing: "write", path: targetPath)
    }
    try linkWithoutReplacing()
  }

  /// For file systems without RENAME_NOREPLACE (NFS, some FUSE): a link never replaces.
  func linkWithoutReplacing() throws(TransferError) {
    guard linkat(folder.number, partName, folder.number, name, 0) == 0 else {
      throw .fromErrno(errno, doing: "write", path: targetPath)
    }
    unlinkat(folder.number, partName, 0)
  }
}

/// The process's umask, read without changing it as umask(2) would.
enum Umask {
  /// As at the first use; nothing in ferry changes it.
  static let value: UInt32 = {
    let fallback: UInt32 = 0o077
    guard let status = fopen("/proc/self/status", "re") else { return fallback }
    defer { fclose(status) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), status) != nil {
      let text = String(
        decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) },
        as: UTF8.self
      )
      guard text.hasPrefix("Umask:") else { continue }
      return UInt32(text.dropFirst(6).drop { $0 == "\t" || $0 == " " }, radix: 8) ?? fallback
    }
    return fallback
  }()
}
