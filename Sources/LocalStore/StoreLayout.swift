import CLinux
import Glibc
import LocalFiles
import TransferModel

/// Where everything of a store lies below its root, and how it is made.
///
/// `index.db` holds every name, `content/<2 digits>/<id>` the bytes, `incoming/<id>.part` what is
/// still being written, `lock` guards the index and `bell` is written when a message is announced.
struct StoreLayout: Sendable {
  let root: String

  var index: String { root + "/index.db" }
  var lock: String { root + "/lock" }
  var bell: String { root + "/bell" }
  var incoming: String { root + "/incoming" }
  var content: String { root + "/content" }

  func part(_ id: String) -> String { "\(incoming)/\(id).part" }
  func shard(_ id: String) -> String { "\(content)/\(id.prefix(2))" }
  func content(_ id: String) -> String { "\(shard(id))/\(id)" }

  /// Makes the folders that do not exist yet, 0700; parents of the root too.
  func create() throws(TransferError) {
    guard root.utf8.first == UInt8(ascii: "/") else {
      throw TransferError(
        .config,
        "the store's root must be an absolute path, and \(root) is not: write it in full"
      )
    }
    guard access(incoming, F_OK) != 0 || access(content, F_OK) != 0 else { return }
    var end = root.utf8.startIndex
    while end != root.utf8.endIndex {
      end =
        root.utf8[root.utf8.index(after: end)...].firstIndex(of: UInt8(ascii: "/"))
        ?? root.utf8.endIndex
      _ = try Self.makeFolder(String(root[..<end]))
    }
    _ = try Self.makeFolder(incoming)
    _ = try Self.makeFolder(content)
    try Self.syncFolder(root)
  }

  /// Makes a folder, 0700; false where it was there.
  static func makeFolder(_ path: String) throws(TransferError) -> Bool {
    if mkdir(path, 0o700) == 0 { return true }
    let code = errno
    // A folder that exists but may not be written answers EEXIST or, read-only, EROFS.
    if code == EEXIST || access(path, F_OK) == 0 { return false }
    throw .fromErrno(code, doing: "make the folder", path: path)
  }

  /// Makes a folder's entries durable.
  static func syncFolder(_ path: String) throws(TransferError) {
    let folder = clinux_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard folder >= 0 else { throw .fromErrno(errno, doing: "open the folder", path: path) }
    defer { close(folder) }
    // Some file systems have nothing to sync in a folder and say EINVAL.
    guard fsync(folder) == 0 || errno == EINVAL else {
      throw .fromErrno(errno, doing: "sync the folder", path: path)
    }
  }
}

extension StoreLayout {
  /// The content's path as a `file://` URI, percent-encoded.
  func url(_ id: String) -> String {
    var text = "file://"
    for byte in content(id).utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "/"):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        text += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return text
  }
}
