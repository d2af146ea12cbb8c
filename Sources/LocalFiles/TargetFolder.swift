import CLinux
import Glibc
import TransferModel

/// The open folder that a target lies in.
final class TargetFolder: Sendable {
  private let folder: Descriptor

  var number: Int32 { folder.number }

  private init(_ folder: consuming Descriptor) { self.folder = folder }

  /// Opens the folder of a target and splits off its name.
  static func open(
    of targetPath: String,
    within roots: Roots
  ) throws(TransferError) -> (TargetFolder, name: String) {
    try Descriptor.requirePlain(targetPath)
    let name = ObjectReference.lastComponent(of: targetPath)
    guard !name.isEmpty, name != ".", name != ".." else { throw isFolder(targetPath) }
    let parent = Self.parent(of: targetPath)
    try roots.check(parent)
    do throws(TransferError) {
      // Not for reading: a folder one may write to but not list is enough.
      let folder = try Descriptor.open(parent, O_PATH | O_DIRECTORY, doing: "open the folder")
      try roots.check(opened: folder.number, path: parent)
      return (TargetFolder(folder), name)
    } catch  where error.code == .fileNotFound {
      throw TransferError(
        .fileNotFound,
        "Cannot write '\(TransferError.shown(targetPath))': there is no such folder; "
          + "create it first."
      )
    }
  }

  /// Checks that a name is free, or is something that may be overwritten.
  func requireFree(
    _ name: String,
    overwrite: Bool,
    targetPath: String
  ) throws(TransferError) {
    var status = stat()
    guard fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return }
      throw .fromErrno(errno, doing: "write", path: targetPath)
    }
    var kind = status.st_mode & S_IFMT
    if kind == S_IFLNK {
      // A dangling link is replaced as a link; one to a folder is surely meant as that folder.
      kind = fstatat(number, name, &status, 0) == 0 ? status.st_mode & S_IFMT : S_IFREG
    }
    if kind == S_IFDIR { throw Self.isFolder(targetPath) }
    guard kind == S_IFREG else {
      throw TransferError(
        .invalidFileObject,
        "'\(TransferError.shown(targetPath))' is a device, pipe or socket; name a regular file."
      )
    }
    if !overwrite { throw .fromErrno(EEXIST, doing: "write", path: targetPath) }
  }

  /// Brings the names in the folder to the disk.
  func sync(path: String) throws(TransferError) {
    guard
      let readable = try? Descriptor.reopen(
        number,
        O_RDONLY | O_DIRECTORY,
        doing: "open the folder of",
        path: path
      )
    else {
      // It may be written but not read, or there are no descriptors left: the file is there all the same.
      return Glibc.sync()
    }
    // Some network file systems know no fsync of folders.
    guard fsync(readable.number) == 0 || errno == EINVAL else {
      throw .unsettled(errno, path: path)
    }
  }

  /// The text before the last component, with its slash; `.` where there is none.
  static func parent(of path: String) -> String {
    let name = ObjectReference.lastComponent(of: path)
    let parent = String(Substring(path.utf8.dropLast(name.utf8.count)))
    return parent.isEmpty ? "." : parent
  }

  private static func isFolder(_ path: String) -> TransferError {
    TransferError(
      .invalidFileObject,
      "'\(TransferError.shown(path))' is a folder; name the file to write in it."
    )
  }
}

extension TransferError {
  /// A file has its name, but not for sure after a power cut.
  static func unsettled(_ code: Int32, path: String) -> TransferError {
    var error = fromErrno(code, doing: "bring to the disk the name of", path: path)
    error.message += " The file is in its place, but a power cut may undo that."
    return error
  }
}
