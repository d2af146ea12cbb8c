import CLinux
import Glibc

/// What tells that a file is the same and has the same content.
package struct FileIdentity: Sendable, Hashable, CustomStringConvertible {
  /// `st_dev`.
  package let device: UInt64
  /// `st_ino`.
  package let inode: UInt64
  /// Bytes.
  package let size: Int64
  /// Time of the last modification, nanoseconds since 1970.
  package let modifiedNs: Int64

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modifiedNs =
      Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
  }

  /// `device:inode:size:modifiedNs` in decimal; equal exactly for equal identities.
  package var description: String { "\(device):\(inode):\(size):\(modifiedNs)" }
}
