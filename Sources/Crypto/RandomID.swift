/// Bytes nobody can guess, from the kernel (`getrandom`, through Swift's system generator).
package enum RandomBytes {
  /// `count` fresh bytes; `count` must not be negative.
  package static func make(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    // By words: each number drawn is one system call.
    let words = (0..<(count + 7) / 8).map { _ in generator.next() as UInt64 }
    return words.withUnsafeBytes { Array($0.prefix(count)) }
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
