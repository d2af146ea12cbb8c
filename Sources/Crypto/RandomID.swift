/// Bytes nobody can guess, from the kernel (`getrandom`, through Swift's system generator).
package enum RandomBytes {
  /// `count` fresh bytes; `count` must not be negative.
  package static func make(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
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
