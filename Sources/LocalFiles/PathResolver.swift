package import TransferModel

/// From what a host writes to an absolute path.
package enum PathResolver {
  /// Makes a path absolute and a `file:` URI (RFC 8089) a path.
  ///
  /// `..` and symbolic links are left to the kernel, which alone knows where they lead.
  ///
  /// - Parameters:
  ///   - path: a path, or a text that starts with `file:/`.
  ///   - root: an absolute folder that relative paths start from.
  /// - Returns: an absolute path.
  /// - Throws: `ERR_INVALID_ARGUMENT` for an empty path, NUL, or a URI that names no local file.
  package static func resolve(
    _ path: String,
    relativeTo root: String
  ) throws(TransferError) -> String {
    if path.utf8.prefix(6).elementsEqual("file:/".utf8, by: { $0 | 0x20 == $1 | 0x20 }) {
      return try local(uri: path)
    }
    try Descriptor.requirePlain(path)
    if path.utf8.first == UInt8(ascii: "/") { return path }
    return root.utf8.last == UInt8(ascii: "/") ? root + path : root + "/" + path
  }

  private static func local(uri: String) throws(TransferError) -> String {
    var rest = uri.utf8.dropFirst(5)
    if rest.starts(with: "//".utf8) {
      rest = rest.dropFirst(2)
      let host = String(Substring(rest.prefix { $0 != UInt8(ascii: "/") }))
      guard host.isEmpty || host.lowercased() == "localhost" else {
        throw refused(uri, "its host is '\(TransferError.shown(host))'; only local files are read")
      }
      rest = rest.dropFirst(host.utf8.count)
    }
    guard rest.first == UInt8(ascii: "/") else { throw refused(uri, "it names no absolute path") }
    let path = try percentDecoded(rest, of: uri)
    try Descriptor.requirePlain(path)
    return path
  }

  private static func percentDecoded(
    _ text: Substring.UTF8View,
    of uri: String
  ) throws(TransferError) -> String {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "?"), UInt8(ascii: "#"):
        throw refused(uri, "write ? as %3F and # as %23 in it")
      case UInt8(ascii: "%"):
        guard rest.count >= 2, let high = digit(rest.removeFirst()),
          let low = digit(rest.removeFirst())
        else { throw refused(uri, "each % in it needs two hexadecimal digits; write % as %25") }
        let decoded = high << 4 | low
        guard decoded != UInt8(ascii: "/") else {
          throw refused(uri, "no file name has a slash (%2F)")
        }
        bytes.append(decoded)
      default:
        bytes.append(byte)
      }
    }
    guard let path = String(validating: bytes, as: UTF8.self) else {
      throw refused(uri, "its escapes are not UTF-8")
    }
    return path
  }

  private static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func refused(_ uri: String, _ why: String) -> TransferError {
    TransferError(
      .invalidArgument,
      "The URI '\(TransferError.shown(uri))' is no local file: \(why)."
    )
  }
}
