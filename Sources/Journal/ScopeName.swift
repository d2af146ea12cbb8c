/// File names made from keys of hosts, different for different keys.
enum ScopeName {
  /// Letters, digits, `_`, `-` and inner dots stay, other bytes become `%XX`; the empty key is `%`.
  ///
  /// A name longer than 200 bytes is cut and ends in a hash of the key.
  static func make(_ key: String) -> String {
    var name = ""
    for byte in key.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
        UInt8(ascii: ".") where byte != UInt8(ascii: ".") || !name.isEmpty:
        name.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        name += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
    guard name.utf8.count > 200 else { return name.isEmpty ? "%" : name }
    return "\(name.prefix(180))~\(String(StableHash.of(key), radix: 16))"
  }
}

/// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv): the same in every process, which
/// Swift's own hashes are not.
enum StableHash {
  static func of(_ text: String) -> UInt64 {
    text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
