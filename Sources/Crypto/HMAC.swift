import COpenSSL

/// Keyed hashes of RFC 2104.
package enum HMAC {
  /// HMAC-SHA256: 32 bytes.
  package static func sha256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      var length: UInt32 = 0
      let result = COpenSSL.HMAC(
        EVP_sha256(),
        key,
        Int32(key.count),
        message,
        message.count,
        output.baseAddress,
        &length
      )
      // As with digests: nothing is better than a wrong one.
      guard result != nil, length == 32 else { fatalError("HMAC failed") }
      count = 32
    }
  }
}
