import CLinux
import Glibc
import LocalFiles
package import TransferModel

/// Content that must outlive its request or exceeds memory, in a file of its own, mode 0600.
///
/// It lies beside the journal file of the process that made it and belongs to the row that names
/// it: the start that adopts the journal file removes what no row names. Dropping the object
/// closes the file and leaves it.
package final class SpoolFile: Sendable {
  /// Where it is, absolute where the state directory is.
  package let path: String
  /// The open descriptor, for reading and writing; valid as long as this object.
  package let number: Int32

  /// Makes an empty file under a name that nothing has.
  static func create(in folder: String) throws(TransferError) -> SpoolFile {
    try StateFolder.make(folder)
    while true {
      let path = "\(folder)/\(RandomName.make())"
      let flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
      let number = clinux_open(path, flags, 0o600)
      if number >= 0 { return SpoolFile(path: path, number: number) }
      guard errno == EEXIST || errno == EINTR else {
        throw .fromErrno(errno, doing: "make", path: path)
      }
    }
  }

  private init(path: String, number: Int32) {
    self.path = path
    self.number = number
  }

  deinit { close(number) }

  /// Writes all bytes at an offset.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(TransferError) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count = pwrite(number, rest.baseAddress, rest.count, Int(offset) + done)
      if count >= 0 {
        done += count
      } else if errno != EINTR {
        throw .fromErrno(errno, doing: "write to", path: path)
      }
    }
  }

  /// Writes all bytes at an offset.
  package func write(_ bytes: [UInt8], at offset: Int64) throws(TransferError) {
    try bytes.withUnsafeBufferPointer { bytes throws(TransferError) in
      try write(UnsafeRawBufferPointer(bytes), at: offset)
    }
  }

  /// Removes the file; the descriptor goes on to work.
  package func remove() { unlink(path) }

  /// Removes a file that is not open, where it is still there.
  package static func remove(_ path: String) { unlink(path) }
}

/// Names for files that only this program makes.
enum RandomName {
  /// 13 letters and digits: all 64 bits in base 36.
  static func make() -> String {
    let digits = String(UInt64.random(in: 0 ... .max), radix: 36)
    return String(repeating: "0", count: 13 - digits.utf8.count) + digits
  }
}
