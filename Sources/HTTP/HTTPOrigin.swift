import TransferModel

/// Scheme, host and port of a request, taken apart for messages and for who shares a connection.
struct HTTPOrigin {
  /// As the request has it.
  let text: String
  /// `host:port`, for messages.
  let shown: String
  let isSecure: Bool
  /// Whether the host is an address, which no name server need be asked for.
  let isAddress: Bool

  /// - Throws: `ERR_INVALID_ARGUMENT` for what is not `http://host` or `https://host:port`.
  init(_ text: String) throws(TransferError) {
    self.text = text
    isSecure = text.hasPrefix("https://")
    guard isSecure || text.hasPrefix("http://") else { throw Self.refused }
    let authority = text.dropFirst(isSecure ? 8 : 7)
    let isPlain = authority.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "@"), UInt8(ascii: "?"), UInt8(ascii: "#"): false
      default: (0x21..<0x7f).contains(byte)
      }
    }
    guard isPlain, !authority.isEmpty else { throw Self.refused }
    let isIPv6 = authority.hasPrefix("[")
    let hasPort = isIPv6 ? !authority.hasSuffix("]") : authority.utf8.contains(UInt8(ascii: ":"))
    shown = hasPort ? String(authority) : "\(authority):\(isSecure ? 443 : 80)"
    isAddress =
      isIPv6
      || authority.utf8.allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: ":")).contains(byte) || byte == UInt8(ascii: ".")
      }
  }

  private static var refused: TransferError {
    TransferError(
      .invalidArgument,
      "A remote's address must be http:// or https://, a host and perhaps a port, and no more."
    )
  }
}
