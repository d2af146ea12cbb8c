import CLinux
import Glibc
package import TransferModel

/// The folders that local files may lie in, after symbolic links.
///
/// A path is judged twice: before it is opened, so that nothing outside can be probed, and by
/// what was opened, so that a link put in between changes nothing. The roots are resolved at each
/// check: one that does not exist yet holds nothing.
package struct Roots: Sendable, Equatable {
  /// The folders as configured; empty for anywhere.
  package let folders: [String]

  /// No restriction.
  package static let anywhere = Roots()

  private init() { folders = [] }

  /// Takes absolute folders; none means anywhere.
  ///
  /// - Throws: `ERR_CONFIG` for a folder that is not absolute.
  package init(_ folders: [String]) throws(TransferError) {
    for folder in folders
    where folder.utf8.first != UInt8(ascii: "/") || folder.utf8.contains(0) {
      throw TransferError(
        .config,
        "The root '\(TransferError.shown(folder))' is not an absolute path; write it out."
      )
    }
    self.folders = folders
  }

  /// Checks an absolute path, whether or not something is there.
  ///
  /// - Throws: `ERR_FILE_ACCESS_DENIED`.
  package func check(_ path: String) throws(TransferError) {
    guard !folders.isEmpty else { return }
    try Descriptor.requirePlain(path)
    guard let real = Self.resolved(path), holds(real) else { throw denied(path) }
  }

  /// Checks what a descriptor stands for, whatever its path leads to by now.
  ///
  /// - Parameters:
  ///   - descriptor: open, also with `O_PATH`.
  ///   - path: the path it was opened by, for the message.
  /// - Throws: `ERR_FILE_ACCESS_DENIED`.
  package func check(opened descriptor: Int32, path: String) throws(TransferError) {
    guard !folders.isEmpty else { return }
    guard let real = Descriptor.path(of: descriptor), holds(real) else { throw denied(path) }
  }

  private func holds(_ real: String) -> Bool {
    folders.contains { folder in
      guard let root = Self.realpath(folder) else { return false }
      // By bytes: Swift holds differently composed texts for equal, the kernel does not.
      let prefix = root == "/" ? root : root + "/"
      return real.utf8.elementsEqual(root.utf8) || real.utf8.starts(with: prefix.utf8)
    }
  }

  private func denied(_ path: String) -> TransferError {
    let list = folders.map { "'\($0)'" }.joined(separator: ", ")
    return TransferError(
      .fileAccessDenied,
      "'\(TransferError.shown(path))' lies outside the folders allowed by limits.roots: \(list). "
        + "Use a file there, or add its folder to limits.roots."
    )
  }

  /// The real path of the part that exists, followed by the rest.
  ///
  /// Nil where the rest goes up or starts with a link to nothing: where that leads is not known.
  private static func resolved(_ path: String) -> String? {
    var parts = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    var rest = ""
    while true {
      let existing = "/" + parts.joined(separator: "/")
      if let real = realpath(existing) { return real == "/" && !rest.isEmpty ? rest : real + rest }
      var status = stat()
      let isLink = lstat(existing, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
      guard !isLink, let name = parts.popLast(), name != ".." else { return nil }
      rest = "/" + name + rest
    }
  }

  /// realpath(3); nil where it fails.
  private static func realpath(_ path: String) -> String? {
    guard let real = Glibc.realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }
}
