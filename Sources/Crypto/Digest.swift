import COpenSSL
import Synchronization

/// A hash function ferry reports sums of.
package enum DigestAlgorithm: String, Sendable, CaseIterable {
  case sha256, md5
}

/// A running digest over OpenSSL's EVP.
///
/// May be handed from thread to thread: a lock orders the calls. A call that OpenSSL refuses stops
/// the process with OpenSSL's reason, because no digest is better than a wrong one; it happens
/// only where memory is gone or the algorithm is switched off in the whole system.
package final class Digest: Sendable {
  /// The hash function.
  package let algorithm: DigestAlgorithm
  private let context: Mutex<DigestContext>

  /// Starts with no bytes taken.
  package init(_ algorithm: DigestAlgorithm) {
    self.algorithm = algorithm
    context = Mutex(DigestContext(algorithm))
  }

  private init(copyOf other: Digest) {
    algorithm = other.algorithm
    context = Mutex(other.context.withLock { $0.copy() })
  }

  /// Takes the next bytes.
  package func update(_ bytes: UnsafeRawBufferPointer) {
    context.withLock { $0.update(bytes) }
  }

  /// Takes the next bytes.
  package func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// A second digest that goes on from the same bytes.
  package func copy() -> Digest { Digest(copyOf: self) }

  /// The digest of the bytes taken so far (16 bytes for md5, 32 for sha256); more may follow.
  package func finish() -> [UInt8] {
    context.withLock { $0.copy() }.finish()
  }

  /// The digest of the bytes taken so far in lower-case hexadecimal.
  package var hex: String { Hex.encode(finish()) }
}

/// The one owner of an `EVP_MD_CTX`.
///
/// Proof of Sendable: the pointer never leaves this value, which cannot be copied, so whoever may
/// use the value is the only one to touch the context.
private struct DigestContext: ~Copyable, @unchecked Sendable {
  private let pointer: OpaquePointer

  private init() {
    guard let pointer = EVP_MD_CTX_new() else { Self.refused("EVP_MD_CTX_new") }
    self.pointer = pointer
  }

  init(_ algorithm: DigestAlgorithm) {
    self.init()
    let function =
      switch algorithm {
      case .sha256: Self.sha256
      case .md5: Self.md5
      }
    Self.check(EVP_DigestInit_ex(pointer, function, nil), "EVP_DigestInit_ex")
  }

  // Looked up once: OpenSSL 3 looks for the others at each use, under locks. Without one the digest
  // is refused. Never written to, and never freed.
  private nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
  private nonisolated(unsafe) static let md5 = EVP_MD_fetch(nil, "MD5", nil)

  deinit { EVP_MD_CTX_free(pointer) }

  func copy() -> DigestContext {
    let copy = DigestContext()
    Self.check(EVP_MD_CTX_copy_ex(copy.pointer, pointer), "EVP_MD_CTX_copy_ex")
    return copy
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    Self.check(EVP_DigestUpdate(pointer, bytes.baseAddress, bytes.count), "EVP_DigestUpdate")
  }

  consuming func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { output, count in
      var length: UInt32 = 0
      Self.check(
        EVP_DigestFinal_ex(pointer, output.baseAddress, &length),
        "EVP_DigestFinal_ex"
      )
      count = Int(length)
    }
  }

  /// Every status of EVP passes here; 1 is success.
  private static func check(_ status: Int32, _ call: StaticString) {
    if status != 1 { refused(call) }
  }

  /// Stops with OpenSSL's own words: going on could only report a wrong digest.
  private static func refused(_ call: StaticString) -> Never {
    var text = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(ERR_get_error(), &text, text.count)
    let words = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    fatalError("\(call) failed: \(String(decoding: words, as: UTF8.self))")
  }
}
