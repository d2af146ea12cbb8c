import CLinux
import Glibc
import TransferModel

/// The list of ids in a lock file: 8 bytes for each that came or went, the latest counts.
///
/// A hash of the id in this machine's order of bytes; its lowest bit says that it went. One
/// that is missed or found by chance costs a wait or a join, never content.
struct HeldIDs {
  /// Longer lists are written anew, bytes.
  static let limit = 1 << 20
  private let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// The word that says an id came; with its lowest bit set, that it went.
  static func word(_ id: String) -> UInt64 { StableHash.of(id) & ~1 }

  /// Bytes.
  var size: Int {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int(status.st_size) & ~7 : 0
  }

  /// Adds to the list; a full disk leaves it short, and the commit that follows says so.
  func append(_ words: [UInt64]) {
    if !words.isEmpty { write(words, at: size) }
  }

  /// Writes the list anew.
  func replace(_ words: [UInt64]) {
    write(words, at: 0)
    ftruncate(descriptor, words.count * 8)
  }

  /// Whether a lock file lists an id as held; false where it cannot be read.
  static func contains(_ id: TransferID, in path: String) -> Bool {
    let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    let list = HeldIDs(descriptor)
    var words = [UInt64](repeating: 0, count: list.size / 8)
    let count = words.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    let wanted = word(id.description)
    let last = words.prefix(max(0, count) / 8).last { $0 & ~1 == wanted }
    return last == wanted
  }

  private func write(_ words: [UInt64], at offset: Int) {
    words.withUnsafeBytes { _ = pwrite(descriptor, $0.baseAddress, $0.count, offset) }
  }
}
