import CLinux
import Glibc
package import TransferModel

/// A regular file opened for reading, closed with this object; safe to read from many threads.
///
/// It stays the same file whatever happens to its name: a file renamed over it is not seen.
package final class SourceFile: Sendable {
  /// The path it was opened by.
  package let path: String
  /// The file as it was when opened.
  package let identity: FileIdentity
  private let descriptor: Descriptor

  /// The open descriptor, for `FileCopy` and `FileScan`; valid as long as this object.
  package var number: Int32 { descriptor.number }
  /// The size announced, in bytes.
  package var size: Int64 { identity.size }

  private init(path: String, identity: FileIdentity, descriptor: consuming Descriptor) {
    self.path = path
    self.identity = identity
    self.descriptor = descriptor
  }

  /// Opens a regular file.
  ///
  /// It is first opened without access (`O_PATH`), judged by that descriptor and only then opened
  /// for reading: a pipe or a device is never touched, and the file judged is the file read.
  ///
  /// - Parameters:
  ///   - path: absolute (see `PathResolver`).
  ///   - roots: where it must lie after symbolic links.
  /// - Returns: the open file.
  /// - Throws: `ERR_FILE_NOT_FOUND`, `ERR_FILE_ACCESS_DENIED`, `ERR_INVALID_FILE_OBJECT` for what
  ///   is no regular file, `ERR_INVALID_ARGUMENT` for a path no file can have.
  package static func open(
    _ path: String,
    within roots: Roots = .anywhere
  ) throws(TransferError) -> SourceFile {
    var status = stat()
    let found = try find(path, within: roots, &status)
    // O_NONBLOCK: reading some files of /proc waits for events.
    let descriptor = try Descriptor.reopen(
      found.number,
      O_RDONLY | O_NONBLOCK | O_NOCTTY,
      doing: "open",
      path: path
    )
    let identity = try settledIdentity(descriptor.number, path: path)
    if identity.size > 128 << 10 {
      // Reads ahead more than by itself.
      posix_fadvise(descriptor.number, 0, 0, POSIX_FADV_SEQUENTIAL)
    }
    return SourceFile(path: path, identity: identity, descriptor: descriptor)
  }

  /// Judges a file as `open` does, without reading it: one that can be opened has this identity.
  ///
  /// - Throws: what `open` throws.
  package static func look(
    at path: String,
    within roots: Roots = .anywhere
  ) throws(TransferError) -> FileIdentity {
    var status = stat()
    let found = try find(path, within: roots, &status)
    let identity = FileIdentity(status)
    // Why it cannot be read, or whether it is a file of the kernel, only opening tells.
    guard identity.size > 0, clinux_may_read(found.number) != 0 else {
      return try open(path, within: roots).identity
    }
    return identity
  }

  private static func find(
    _ path: String,
    within roots: Roots,
    _ status: inout stat
  ) throws(TransferError) -> Descriptor {
    try roots.check(path)
    let found = try Descriptor.open(path, O_PATH, doing: "open")
    try roots.check(opened: found.number, path: path)
    status = try Descriptor.status(found.number, path: path)
    try requireRegular(status.st_mode, path: path)
    return found
  }

  /// All of its bytes.
  ///
  /// - Throws: `ERR_FILE_CHANGED` where the file ends before its announced size.
  package func readAll() throws(TransferError) -> [UInt8] {
    var failure: TransferError?
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, filled in
      do throws(TransferError) {
        filled = try read(at: 0, into: UnsafeMutableRawBufferPointer(buffer))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Fills the buffer from an offset, up to the announced end.
  ///
  /// - Returns: the bytes read; fewer than the buffer holds only at the announced end.
  /// - Throws: `ERR_FILE_CHANGED` where the file ends before its announced size.
  package func read(
    at offset: Int64,
    into buffer: UnsafeMutableRawBufferPointer
  ) throws(TransferError) -> Int {
    let wanted = Int(max(0, min(Int64(buffer.count), size - offset)))
    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
    let count = try Descriptor.read(number, at: offset, into: part, path: path)
    guard count == wanted else { throw changed("it ends at byte \(offset + Int64(count))") }
    return count
  }

  /// Checks that the content is still the one announced.
  ///
  /// Judged by size and modification time. The change time (ctime) is left out on purpose: it
  /// also moves when the file gets another name, mode or hard link, which changes no byte.
  ///
  /// - Throws: `ERR_FILE_CHANGED`.
  package func verifyUnchanged() throws(TransferError) {
    let now = try FileIdentity(Descriptor.status(number, path: path))
    if now.size != size { throw changed("its size is \(now.size) now") }
    if now.modifiedNs != identity.modifiedNs { throw changed("it was written to") }
  }

  private func changed(_ how: String) -> TransferError {
    TransferError(
      .fileChanged,
      "'\(TransferError.shown(path))' changed while it was read: it had \(size) bytes and \(how). "
        + "Send it again once nothing writes to it."
    )
  }

  /// The identity, once it is sure that a size of 0 means an empty file.
  ///
  /// Files of /proc have content and report no size.
  private static func settledIdentity(
    _ number: Int32,
    path: String
  ) throws(TransferError) -> FileIdentity {
    let identity = try FileIdentity(Descriptor.status(number, path: path))
    guard identity.size == 0 else { return identity }
    var byte: UInt8 = 0
    guard pread(number, &byte, 1, 0) != 0 else { return identity }
    // Written to since? Then the size tells.
    let later = try FileIdentity(Descriptor.status(number, path: path))
    guard later.size == 0 else { return later }
    throw TransferError(
      .invalidFileObject,
      "'\(TransferError.shown(path))' does not tell its size, as files of the kernel do; "
        + "send its content as a stream."
    )
  }

  private static func requireRegular(_ mode: mode_t, path: String) throws(TransferError) {
    let what: String
    switch mode & S_IFMT {
    case S_IFREG: return
    case S_IFDIR: what = "a folder; name the files in it, or pack it (tar, zip) and send that"
    case S_IFIFO: what = "a named pipe; send its content as a stream"
    case S_IFSOCK: what = "a socket; send its content as a stream"
    case S_IFCHR, S_IFBLK: what = "a device; send its content as a stream"
    default: what = "no regular file; name a regular file"
    }
    throw TransferError(.invalidFileObject, "'\(TransferError.shown(path))' is \(what).")
  }
}
