import Backends
import Crypto

/// RFC 2047: how text that is not ASCII travels in a header's value, and how S3 itself returns it.
enum EncodedWord {
  /// The text as a header's value: as it is where it can be, else in the shorter of the two codings.
  ///
  /// Empty text, text with double or outer spaces and text that looks encoded are encoded too,
  /// since headers would not keep them.
  static func encode(_ text: String) -> String {
    if isPlain(text) { return text }
    let bytes = Array(text.utf8)
    let quoted = bytes.reduce(0) { $0 + (isQuotable($1) || $1 == 32 ? 1 : 3) }
    guard quoted <= (bytes.count + 2) / 3 * 4 else {
      return "=?UTF-8?B?\(Base64.encode(bytes))?="
    }
    var coded: [UInt8] = []
    for byte in bytes {
      if byte == 32 {
        coded.append(UInt8(ascii: "_"))
      } else if isQuotable(byte) {
        coded.append(byte)
      } else {
        coded.append(UInt8(ascii: "="))
        coded.append(contentsOf: PercentEncoding.hex(byte))
      }
    }
    return "=?UTF-8?Q?\(String(decoding: coded, as: UTF8.self))?="
  }

  /// The text of a header's value; what is no encoded word stays as it is.
  static func decode(_ value: String) -> String {
    guard value.contains("=?") else { return value }
    var bytes: [UInt8] = []
    var rest = value[...]
    var spaces = 0
    var followsWord = false
    while let first = rest.first {
      if first == " " {
        spaces += 1
        rest = rest.dropFirst()
        continue
      }
      let word = word(rest)
      // White space between two encoded words belongs to neither.
      if word == nil || !followsWord {
        bytes.append(contentsOf: [UInt8](repeating: 32, count: spaces))
      }
      spaces = 0
      followsWord = word != nil
      bytes.append(contentsOf: word?.bytes ?? Array(String(first).utf8))
      rest = word?.rest ?? rest.dropFirst()
    }
    bytes.append(contentsOf: [UInt8](repeating: 32, count: spaces))
    return String(validating: bytes, as: UTF8.self) ?? value
  }

  /// The bytes of the word a text starts with, and what follows it.
  private static func word(_ text: Substring) -> (bytes: [UInt8], rest: Substring)? {
    guard text.hasPrefix("=?") else { return nil }
    let parts = text.dropFirst(2).split(
      separator: "?",
      maxSplits: 3,
      omittingEmptySubsequences: false
    )
    guard parts.count == 4, parts[3].hasPrefix("="),
      ["utf-8", "us-ascii"].contains(parts[0].lowercased())
    else { return nil }
    let bytes: [UInt8]? =
      switch parts[1].lowercased() {
      case "b": Base64.decode(String(parts[2]))
      case "q": quotedPrintable(parts[2])
      default: nil
      }
    return bytes.map { ($0, parts[3].dropFirst()) }
  }

  private static func quotedPrintable(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "_"): bytes.append(32)
      case UInt8(ascii: "="):
        guard let high = rest.next().flatMap(PercentEncoding.digit),
          let low = rest.next().flatMap(PercentEncoding.digit)
        else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return bytes
  }

  private static func isPlain(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 >= 32 && $0 < 127 } && !text.hasLooseSpaces
      && !text.contains("=?")
  }

  private static func isQuotable(_ byte: UInt8) -> Bool {
    byte > 32 && byte < 127 && !"=?_".utf8.contains(byte)
  }
}

extension String {
  /// Whether there are spaces that headers do not keep: outer ones, and several side by side.
  var hasLooseSpaces: Bool {
    // As if a space stood before the text and another behind it.
    var follows = true
    for byte in utf8 {
      if byte == 32, follows { return true }
      follows = byte == 32
    }
    return follows && !isEmpty
  }
}
