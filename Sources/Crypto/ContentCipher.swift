/// How PubNub's SDKs encrypt files and messages with a cipher key: two forms, told apart by a
/// header.
///
/// Nothing here can tell a changed ciphertext from a sound one beyond its padding; a wrong key
/// passes for the right one once in about 256 times.
package struct ContentCipher: Sendable, Equatable {
  /// What is written; both forms are read.
  package enum Form: Sendable, Equatable {
    /// With a header (`PNED`, version 1, `ACRH`) and a random initialisation vector.
    case acrh
    /// Without header, as older SDKs do.
    case legacy
  }

  /// What is written.
  package let form: Form
  /// Whether the older form has a random initialisation vector in front, or the constant one.
  package let usesRandomIV: Bool
  let acrhKey: [UInt8]
  let legacyKey: [UInt8]

  /// Derives the keys of both forms.
  package init(cipherKey: String, form: Form = .acrh, usesRandomIV: Bool = true) {
    let digest = Digest(.sha256)
    digest.update(Array(cipherKey.utf8))
    acrhKey = digest.finish()
    // The text of the first half in hexadecimal, so with half the strength.
    legacyKey = Array(digest.hex.utf8.prefix(AES256CBC.keyBytes))
    self.form = form
    self.usesRandomIV = usesRandomIV
  }

  /// Bytes of the ciphertext of so many bytes, at least 1.
  package func encryptedSize(of size: Int64) -> Int64 {
    let block = Int64(AES256CBC.blockBytes)
    return Int64(prefixBytes) + (size / block + 1) * block
  }

  private var prefixBytes: Int {
    switch form {
    case .acrh: Self.header.count + AES256CBC.blockBytes
    case .legacy: usesRandomIV ? AES256CBC.blockBytes : 0
    }
  }

  /// Encrypts bytes at once.
  /// - Throws: `emptyPlaintext`.
  package func encrypt(_ bytes: [UInt8]) throws(CipherError) -> [UInt8] {
    let stream = encryptor()
    var output = bytes.withUnsafeBytes { stream.update($0) }
    output += try stream.finish()
    return output
  }

  /// Decrypts bytes at once, of either form.
  /// - Throws: `damaged` or `unknownForm`.
  package func decrypt(_ bytes: [UInt8]) throws(CipherError) -> [UInt8] {
    let stream = decryptor()
    var output = try stream.update(bytes)
    output += try stream.finish()
    return output
  }

  /// Starts to encrypt a stream.
  package func encryptor() -> Encryptor { Encryptor(self, iv: nil) }

  /// Starts to decrypt a stream of either form.
  package func decryptor() -> Decryptor { Decryptor(self) }

  // PNED, version, ACRH, length of what follows: the initialisation vector.
  static let header = magic + [1] + acrhID + [UInt8(AES256CBC.blockBytes)]
  static let magic = Array("PNED".utf8)
  static let acrhID = Array("ACRH".utf8)
  static let constantIV = Array("0123456789012345".utf8)
}

extension ContentCipher: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "(cipher)" }
  package var debugDescription: String { "(cipher)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Encrypts a stream, piece by piece.
package final class Encryptor {
  private let cipher: AES256CBC
  private var prefix: [UInt8]
  private var isEmpty = true

  /// `iv` is given by tests that know what comes out.
  init(_ cipher: ContentCipher, iv: [UInt8]?) {
    let iv = iv ?? RandomBytes.make(AES256CBC.blockBytes)
    switch (cipher.form, cipher.usesRandomIV) {
    case (.acrh, _):
      prefix = ContentCipher.header + iv
      self.cipher = AES256CBC(encrypts: true, key: cipher.acrhKey, iv: iv)
    case (.legacy, true):
      prefix = iv
      self.cipher = AES256CBC(encrypts: true, key: cipher.legacyKey, iv: iv)
    case (.legacy, false):
      prefix = []
      self.cipher = AES256CBC(
        encrypts: true,
        key: cipher.legacyKey,
        iv: ContentCipher.constantIV
      )
    }
  }

  /// What the next bytes make.
  package func update(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    guard !bytes.isEmpty else { return [] }
    isEmpty = false
    var output: [UInt8] = []
    swap(&output, &prefix)
    cipher.update(bytes, appendingTo: &output)
    return output
  }

  /// What is left.
  /// - Throws: `emptyPlaintext`.
  package func finish() throws(CipherError) -> [UInt8] {
    guard !isEmpty else { throw .emptyPlaintext }
    var output: [UInt8] = []
    _ = cipher.finish(appendingTo: &output)
    return output
  }
}
