import CLinux
import Glibc
package import TransferModel

extension PartFile {
  /// Whether a name has the form of a part's.
  package static func isPart(_ name: String) -> Bool { PartName.isOne(name) }

  /// Removes the parts that processes which are gone left in a folder.
  ///
  /// A part is removed only where its name has the form of a part, it is a regular file of this user
  /// that nobody may execute or has written to for a while, and its lock can be taken, which a
  /// living owner prevents.
  ///
  /// - Parameters:
  ///   - directory: absolute; one that does not exist holds no parts.
  ///   - oldest: seconds since 1970; what was written to since then is left, for somebody may go on
  ///     with it.
  /// - Returns: how many were removed.
  /// - Throws: `ERR_FILE_ACCESS_DENIED` and the like where the folder cannot be listed.
  package static func sweep(
    _ directory: String,
    before oldest: Int
  ) throws(TransferError) -> Int {
    guard let stream = opendir(directory) else {
      if errno == ENOENT { return 0 }
      throw .fromErrno(errno, doing: "list", path: directory)
    }
    defer { closedir(stream) }
    let folder = dirfd(stream)
    var removed = 0
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if PartName.isOne(name), remove(name, from: folder, before: oldest) { removed += 1 }
    }
    return removed
  }

  private static func remove(_ name: String, from folder: Int32, before oldest: Int) -> Bool {
    let number = clinux_openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
    guard number >= 0 else { return false }
    let file = Descriptor(number: number)
    guard FileLock.take(file.number) == .taken else { return false }
    var opened = stat()
    var named = stat()
    // Published or replaced since it was listed: then the name stands for another file.
    guard fstat(file.number, &opened) == 0, PartName.isOurs(opened),
      opened.st_mtim.tv_sec < oldest,
      fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0,
      opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
    else { return false }
    return unlinkat(folder, name, 0) == 0
  }
}
