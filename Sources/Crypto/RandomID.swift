internal import Glibc

/// Bytes nobody can guess, from the kernel.
package enum RandomBytes {
  /// `count` fresh bytes; `count` must not be negative.
  package static func make(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      // getentropy(3) gives at most 256 bytes, with one system call.
      while filled < count {
        let piece = min(256, count - filled)
        let start = buffer.baseAddress.map { $0 + filled }
        guard let start, getentropy(start, piece) == 0 else {
          preconditionFailure("the kernel gives no random bytes")
        }
        filled += piece
      }
    }
  }
}

/// Names nobody can guess and nobody has yet.
package enum RandomID {
  /// 24 characters of Crockford's base 32 in lower case: 120 random bits, the same on file systems
  /// that ignore case, and safe in a file name, a URL and a shell.
  package static func make() -> String {
    String(decoding: RandomBytes.make(24).map { alphabet[Int($0 & 31)] }, as: UTF8.self)
  }

  private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
}
