import COpenSSL

/// AES-256 in CBC mode with PKCS #7 padding over OpenSSL's EVP, in constant memory.
final class AES256CBC {
  private let context: OpaquePointer

  /// Bytes of a block, of the initialisation vector and of the most padding.
  static let blockBytes = 16
  /// Bytes of a key.
  static let keyBytes = 32

  init(encrypts: Bool, key: [UInt8], iv: [UInt8]) {
    precondition(key.count == Self.keyBytes && iv.count == Self.blockBytes)
    guard let context = EVP_CIPHER_CTX_new(),
      EVP_CipherInit_ex(context, EVP_aes_256_cbc(), nil, key, iv, encrypts ? 1 : 0) == 1
    else {
      // Memory is gone, or the cipher is switched off in the whole system: as with digests, nothing
      // is better than content that is not what it seems.
      fatalError("OpenSSL has no AES-256-CBC")
    }
    self.context = context
  }

  // Frees and overwrites the key schedule.
  deinit { EVP_CIPHER_CTX_free(context) }

  /// Appends what the next bytes make; decrypting, the last block is held back for `finish`.
  func update(_ input: UnsafeRawBufferPointer, appendingTo output: inout [UInt8]) {
    // OpenSSL counts in Int32.
    let most = 1 << 30
    var rest = input
    while let base = rest.baseAddress, !rest.isEmpty {
      let count = min(rest.count, most)
      append(upTo: count + Self.blockBytes, to: &output) { target, written in
        EVP_CipherUpdate(
          context,
          target,
          &written,
          base.assumingMemoryBound(to: UInt8.self),
          Int32(count)
        )
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Appends the last block; false where the padding is wrong, every byte of which is looked at,
  /// or the length is.
  func finish(appendingTo output: inout [UInt8]) -> Bool {
    defer { ERR_clear_error() }
    return append(upTo: Self.blockBytes, to: &output) { target, written in
      EVP_CipherFinal_ex(context, target, &written)
    }
  }

  @discardableResult
  private func append(
    upTo count: Int,
    to output: inout [UInt8],
    _ body: (UnsafeMutablePointer<UInt8>?, inout Int32) -> Int32
  ) -> Bool {
    var isDone = false
    let piece = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      var written: Int32 = 0
      isDone = body(buffer.baseAddress, &written) == 1
      initialized = isDone ? Int(written) : 0
    }
    if output.isEmpty { output = piece } else { output += piece }
    return isDone
  }
}
