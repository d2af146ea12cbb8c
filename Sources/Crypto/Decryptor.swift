/// Decrypts a stream, piece by piece; what it begins with decides how.
///
/// What comes out before `finish` has returned may be of a damaged stream.
package final class Decryptor {
  private let cipher: ContentCipher
  private var stream: AES256CBC?
  /// The beginning, until it is known what it is.
  private var beginning: [UInt8] = []

  init(_ cipher: ContentCipher) { self.cipher = cipher }

  /// What the next bytes make.
  /// - Throws: `damaged` or `unknownForm`.
  package func update(_ bytes: [UInt8]) throws(CipherError) -> [UInt8] {
    var output: [UInt8] = []
    if let stream {
      bytes.withUnsafeBytes { stream.update($0, appendingTo: &output) }
      return output
    }
    beginning += bytes
    guard let (stream, start) = try open(isWhole: false) else { return [] }
    begin(stream, at: start, &output)
    return output
  }

  /// What is left.
  /// - Throws: `damaged` or `unknownForm`.
  package func finish() throws(CipherError) -> [UInt8] {
    var output: [UInt8] = []
    if stream == nil {
      guard !beginning.isEmpty else { throw .damaged("it has zero bytes") }
      guard let (stream, start) = try open(isWhole: true) else { throw Self.cut }
      begin(stream, at: start, &output)
    }
    guard let stream, stream.finish(appendingTo: &output) else {
      throw .damaged("the cipher key is another one, or the content is cut or changed")
    }
    return output
  }

  private func begin(_ stream: AES256CBC, at start: Int, _ output: inout [UInt8]) {
    self.stream = stream
    beginning[start...].withUnsafeBytes { stream.update($0, appendingTo: &output) }
    beginning = []
  }

  /// The cipher that the beginning asks for, and how much of it was the asking; nil while more is
  /// needed.
  private func open(isWhole: Bool) throws(CipherError) -> (AES256CBC, start: Int)? {
    let magic = ContentCipher.magic
    guard beginning.starts(with: magic) else {
      return isWhole || beginning.count >= magic.count ? openLegacy() : nil
    }
    // PNED, version, four bytes of id, length: 10 bytes, then the cipher's own.
    guard beginning.count >= 10 else { return nil }
    guard beginning[4] == 1 else {
      throw .unknownForm("its header is of version \(beginning[4]), which is not known here")
    }
    guard Array(beginning[5..<9]) == ContentCipher.acrhID else {
      throw .unknownForm("its header names a cipher that is not known here")
    }
    guard beginning[9] == UInt8(AES256CBC.blockBytes) else {
      throw .damaged("its header is damaged: the initialisation vector has a wrong length")
    }
    let start = 10 + AES256CBC.blockBytes
    guard beginning.count >= start else { return nil }
    let iv = Array(beginning[10..<start])
    return (AES256CBC(encrypts: false, key: cipher.acrhKey, iv: iv), start)
  }

  private func openLegacy() -> (AES256CBC, start: Int)? {
    guard cipher.usesRandomIV else {
      let stream = AES256CBC(
        encrypts: false,
        key: cipher.legacyKey,
        iv: ContentCipher.constantIV
      )
      return (stream, 0)
    }
    guard beginning.count >= AES256CBC.blockBytes else { return nil }
    let iv = Array(beginning.prefix(AES256CBC.blockBytes))
    return (AES256CBC(encrypts: false, key: cipher.legacyKey, iv: iv), AES256CBC.blockBytes)
  }

  private static let cut = CipherError.damaged("it is cut: its header is not whole")
}
