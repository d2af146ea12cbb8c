/// Steps over JSON text; all but ``plainRunEnd(_:from:)`` need text that was validated before.
enum JSONText {
  /// The first index from `start` on whose byte is not plain text, or the end.
  ///
  /// Not plain are quotes, backslashes, control characters and all beyond ASCII.
  static func plainRunEnd(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    runEnd(bytes, from: start, stopsAtDEL: false)
  }

  /// As ``plainRunEnd(_:from:)``, and stops at DEL too.
  static func plainRunEnd(_ bytes: UnsafeBufferPointer<UInt8>, delAndFrom start: Int) -> Int {
    runEnd(bytes, from: start, stopsAtDEL: true)
  }

  /// Eight bytes at a time: the hottest loop of reader and writer.
  @inline(__always)
  private static func runEnd(
    _ bytes: UnsafeBufferPointer<UInt8>,
    from start: Int,
    stopsAtDEL: Bool
  ) -> Int {
    let raw = UnsafeRawBufferPointer(bytes)
    var index = start
    while index + 8 <= bytes.count {
      let marked = marks(in: raw, at: index, stopsAtDEL: stopsAtDEL)
      if marked != 0 { return index + marked.trailingZeroBitCount / 8 }
      index += 8
    }
    if index < bytes.count, bytes.count - start >= 8 {
      // The rest once more with bytes that were plain before it.
      index = bytes.count - 8
      let marked = marks(in: raw, at: index, stopsAtDEL: stopsAtDEL)
      return marked != 0 ? index + marked.trailingZeroBitCount / 8 : bytes.count
    }
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x20 || byte >= (stopsAtDEL ? 0x7F : 0x80) || byte == 0x22 || byte == 0x5C {
        return index
      }
      index += 1
    }
    return index
  }

  /// The high bits of eight bytes that are not plain.
  ///
  /// The lowest is exact; borrows can only mark bytes above it wrongly.
  @inline(__always)
  private static func marks(
    in bytes: UnsafeRawBufferPointer,
    at index: Int,
    stopsAtDEL: Bool
  ) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    let quote = word ^ (ones &* 0x22)
    let backslash = word ^ (ones &* 0x5C)
    var marked =
      word | ((word &- ones &* 0x20) & ~word) | ((quote &- ones) & ~quote)
      | ((backslash &- ones) & ~backslash)
    // One more than DEL has the high bit.
    if stopsAtDEL { marked |= (word & (ones &* 0x7F)) &+ ones }
    return marked & (ones &* 0x80)
  }

  /// The index after the closing quote of the string whose opening quote is at `start`.
  static func stringEnd(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var index = start + 1
    while true {
      index = plainRunEnd(bytes, from: index)
      switch bytes[index] {
      case 0x22: return index + 1
      case 0x5C: index += 2
      default: index += 1
      }
    }
  }

  /// The index after the value that starts at `start`.
  static func valueEnd(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    switch bytes[start] {
    case 0x22: return stringEnd(bytes, from: start)
    case 0x7B, 0x5B:
      var depth = 1
      var index = start + 1
      while depth > 0 {
        switch bytes[index] {
        case 0x22:
          index = stringEnd(bytes, from: index)
          continue
        case 0x7B, 0x5B: depth += 1
        case 0x7D, 0x5D: depth -= 1
        default: break
        }
        index += 1
      }
      return index
    default:
      var index = start + 1
      while index < bytes.count {
        let byte = bytes[index]
        if byte <= 0x20 || byte == 0x2C || byte == 0x7D || byte == 0x5D { break }
        index += 1
      }
      return index
    }
  }

  /// The first index from `start` on that holds no white space.
  static func skipWhiteSpace(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var index = start
    while bytes[index] <= 0x20 { index += 1 }
    return index
  }

  /// The value of one hexadecimal digit.
  static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }

  /// Undoes the escapes of a string's content (without its quotes).
  static func unescape(_ content: Slice<UnsafeBufferPointer<UInt8>>) -> String {
    let bytes = UnsafeBufferPointer(rebasing: content)
    var plain: [UInt8] = []
    plain.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      guard bytes[index] == 0x5C else {
        plain.append(bytes[index])
        index += 1
        continue
      }
      let kind = bytes[index + 1]
      index += 2
      switch kind {
      case UInt8(ascii: "b"): plain.append(0x08)
      case UInt8(ascii: "f"): plain.append(0x0C)
      case UInt8(ascii: "n"): plain.append(0x0A)
      case UInt8(ascii: "r"): plain.append(0x0D)
      case UInt8(ascii: "t"): plain.append(0x09)
      case UInt8(ascii: "u"):
        let high = hexUnit(bytes, at: index)
        index += 4
        var units = [high]
        if high & 0xFC00 == 0xD800 {
          units.append(hexUnit(bytes, at: index + 2))
          index += 6
        }
        plain.append(contentsOf: String(decoding: units, as: UTF16.self).utf8)
      default: plain.append(kind)
      }
    }
    return String(decoding: plain, as: UTF8.self)
  }

  private static func hexUnit(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt16 {
    bytes[index..<(index + 4)].reduce(0) { $0 << 4 | UInt16(hexValue($1) ?? 0) }
  }
}
