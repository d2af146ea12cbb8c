internal import Crypto
internal import TransferModel

/// Signature v2, with which whoever holds the secret key proves it.
enum Signature {
  /// `v2.` and the HMAC in URL-safe base 64 without padding.
  ///
  /// `path` and `query` are as they are sent, the query without its signature and sorted by name.
  static func make(
    method: String,
    publishKey: String,
    path: String,
    query: String,
    body: [UInt8],
    secretKey: Secret
  ) -> String {
    let head = "\(method)\n\(publishKey)\n\(path)\n\(query)\n"
    let hash = HMAC.sha256(key: Array(secretKey.text.utf8), Array(head.utf8) + body)
    return "v2." + urlSafe(Base64.encode(hash))
  }

  /// Base 64 of RFC 4648 section 5, without padding.
  static func urlSafe(_ base64: String) -> String {
    String(
      decoding: base64.utf8.compactMap { byte -> UInt8? in
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        case UInt8(ascii: "="): nil
        default: byte
        }
      },
      as: UTF8.self
    )
  }
}
