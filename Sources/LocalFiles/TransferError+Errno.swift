import Glibc
package import TransferModel

extension TransferError {
  /// The one mapping of failed system calls to ferry's codes.
  ///
  /// - Parameters:
  ///   - number: `errno` as the call left it.
  ///   - doing: what was tried, to stand before the path: `open`, `write to`.
  ///   - path: the file it was tried on; shown shortened where it is very long.
  /// - Returns: the error, with the advice that fits it.
  package static func fromErrno(_ number: Int32, doing: String, path: String) -> TransferError {
    let (code, advice): (ErrorCode, String) =
      switch number {
      case ENOENT: (.fileNotFound, "there is no such file; check the path")
      case ENOTDIR:
        (.fileNotFound, "a part of the path is a file and not a folder; check the path")
      case EACCES, EPERM:
        (.fileAccessDenied, "permission denied; check the owner and mode of it and its folders")
      case EROFS: (.fileAccessDenied, "the file system is read-only; choose another folder")
      case ENOSPC: (.diskFull, "the disk is full; free some space or choose another folder")
      case EDQUOT: (.diskFull, "the disk quota is used up; free some space")
      case EFBIG: (.diskFull, "the file system takes no file of this size; choose another folder")
      case EEXIST, ENOTEMPTY:
        (.targetExists, "it exists already; choose another name, or ask for overwrite: true")
      case EISDIR: (.invalidFileObject, "it is a folder; name a file")
      case ELOOP: (.invalidFileObject, "its symbolic links lead in a circle; name the file itself")
      case ENXIO, ENODEV: (.invalidFileObject, "it is no regular file; name a regular file")
      case ENAMETOOLONG:
        (.invalidArgument, "the path or one of its names is too long; use a shorter one")
      case EMFILE, ENFILE:
        (.unknown, "too many files are open; raise the limit (ulimit -n) or lower concurrency")
      default: (.unknown, words(of: number))
      }
    var error = TransferError(code, "Cannot \(doing) '\(shown(path))': \(advice).")
    if number == EMFILE || number == ENFILE { error.retryableOverride = true }
    return error
  }

  /// A path for a message: its middle left out where it is longer than 400 bytes.
  static func shown(_ path: String) -> String {
    let bytes = path.utf8
    guard bytes.count > 400 else { return path }
    return String(decoding: bytes.prefix(150), as: UTF8.self) + "…"
      + String(decoding: bytes.suffix(150), as: UTF8.self)
  }

  /// The system's words for an `errno`, with the number.
  package static func words(of number: Int32) -> String {
    var text = [CChar](repeating: 0, count: 256)
    guard strerror_r(number, &text, text.count) == 0 else { return "error \(number)" }
    let words = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return "\(String(decoding: words, as: UTF8.self)) (error \(number))"
  }
}
