import CLinux
import Glibc
import LocalFiles
import TransferModel

/// Making, listing and removing folders of the state directory.
enum StateFolder {
  /// Makes a folder and those above it that are missing, each for this user alone.
  static func make(_ path: String) throws(TransferError) {
    // A folder on a read-only file system answers EROFS although it exists.
    if mkdir(path, 0o700) == 0 { return try sync(parent(of: path)) }
    let code = errno
    if code == ENOENT, parent(of: path) != path {
      try make(parent(of: path))
      guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
        throw .fromErrno(errno, doing: "make the folder", path: path)
      }
      return try sync(parent(of: path))
    }
    guard isFolder(path) else {
      throw .fromErrno(code == EEXIST ? ENOTDIR : code, doing: "make the folder", path: path)
    }
  }

  /// The names in a folder, in the order of their bytes; none where there is no such folder.
  static func names(in path: String) throws(TransferError) -> [String] {
    guard let stream = opendir(path) else {
      if errno == ENOENT { return [] }
      throw .fromErrno(errno, doing: "list", path: path)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Removes a folder of files but for some names; what cannot be removed stays.
  static func remove(_ path: String, keeping kept: Set<String> = []) {
    // A folder that cannot be listed cannot be emptied either.
    for name in (try? names(in: path)) ?? [] where !kept.contains(name) {
      unlink("\(path)/\(name)")
    }
    if kept.isEmpty { rmdir(path) }
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private static func parent(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func sync(_ path: String) throws(TransferError) {
    let folder = clinux_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    // One that may be written but not read cannot be synced; its names come to the disk later.
    guard folder >= 0 else { return }
    defer { close(folder) }
    guard fsync(folder) == 0 || errno == EINVAL else {
      throw .fromErrno(errno, doing: "write the folder", path: path)
    }
  }
}
