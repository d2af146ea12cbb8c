import SQLite
import TransferModel

extension Index {
  /// One page of the objects below a reference, in byte order of their paths.
  ///
  /// Unless recursive, whole "folders" are skipped by seeking past them, so a page costs what it
  /// shows and not what lies below it.
  func listObjects(
    below prefix: ObjectReference,
    recursive: Bool,
    limit: Int,
    next: String?
  ) throws(TransferError) -> ObjectPage {
    let base = prefix.isRoot ? "" : prefix.fullPath + "/"
    // SQLite orders every blob after every text: the root has no end.
    let end = prefix.isRoot ? .blob([]) : SQLValue.text(prefix.fullPath + Self.afterSlash)
    var cursor =
      try next.map { (token) throws(TransferError) in
        try ListingToken.decode(token, base: base, recursive: recursive)
      } ?? base
    var page = ObjectPage(items: [], prefixes: [], next: nil)
    var count = 0
    var isMore = true
    while isMore {
      isMore = false
      try mapped { () throws(SQLiteError) in
        try database.forEach(
          "SELECT path, size FROM object WHERE path >= ? AND path < ? ORDER BY path",
          .text(cursor),
          end
        ) { row in
          let path = row.text(0)
          if count == limit {
            page.next = ListingToken.encode(cursor, recursive: recursive)
            return false
          }
          count += 1
          if !recursive, let folder = Self.folder(in: path, below: base) {
            page.prefixes.append(folder)
            cursor = folder + Self.afterSlash
            isMore = true
            return false
          }
          page.items.append(ObjectEntry(fullPath: path, size: row.integer(1)))
          // The least text that is greater.
          cursor = path + "\0"
          return true
        }
      }
    }
    return page
  }

  /// What follows `/` in byte order: a folder's name and this make the least text greater than
  /// all paths in the folder.
  private static let afterSlash = "0"

  /// The path up to the first slash after the base; nil where there is none.
  private static func folder(in path: String, below base: String) -> String? {
    let bytes = path.utf8
    let start = bytes.index(bytes.startIndex, offsetBy: base.utf8.count)
    guard let slash = bytes[start...].firstIndex(of: UInt8(ascii: "/")) else { return nil }
    return String(path[..<slash])
  }
}

/// Where a listing goes on, as the opaque text a host hands back.
///
/// It is the kind of listing and, in hexadecimal, the least path of the next page.
private enum ListingToken {
  static func encode(_ cursor: String, recursive: Bool) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var bytes = [kind(recursive)]
    for byte in cursor.utf8 { bytes += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// - Throws: `ERR_INVALID_ARGUMENT` for what `encode` did not make for this listing.
  static func decode(
    _ token: String,
    base: String,
    recursive: Bool
  ) throws(TransferError) -> String {
    let text = Array(token.utf8)
    var bytes: [UInt8] = []
    if text.first == kind(recursive), text.count % 2 == 1 {
      for start in stride(from: 1, to: text.count, by: 2) {
        guard let high = value(text[start]), let low = value(text[start + 1]) else { break }
        bytes.append(high << 4 | low)
      }
      if bytes.count * 2 + 1 == text.count, bytes.starts(with: base.utf8),
        let cursor = String(validating: bytes, as: UTF8.self)
      {
        return cursor
      }
    }
    throw .wrongNext
  }

  private static func kind(_ recursive: Bool) -> UInt8 { UInt8(ascii: recursive ? "r" : "d") }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}

extension TransferError {
  /// A `next` that no page of the same listing gave.
  static let wrongNext = TransferError(
    .invalidArgument,
    "next does not come from a page of this listing: pass what the last page gave, or leave it out",
    field: "/next"
  )
}
