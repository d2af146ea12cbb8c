/// Validates JSON texts (RFC 8259) in one pass over their bytes.
package enum JSONScanner {
  /// The deepest nesting of arrays and objects that is accepted unless a caller says otherwise.
  package static let defaultMaxDepth = 128

  /// Checks that `bytes` hold exactly one JSON value in valid UTF-8.
  ///
  /// Lone surrogate escapes and raw control characters, NUL among them, are refused.
  /// - Parameters:
  ///   - bytes: the whole text; white space around the value is allowed.
  ///   - maxDepth: how many arrays and objects may be open at once.
  /// - Returns: the half-open range of the value, without white space around it.
  /// - Throws: a ``JSONError`` about the whole text that names the byte where it went wrong.
  package static func scan(
    _ bytes: [UInt8],
    maxDepth: Int = defaultMaxDepth
  ) throws(JSONError) -> Range<Int> {
    try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) -> Range<Int> in
      var scan = Scan(bytes: buffer, maxDepth: maxDepth)
      do throws(Scan.Failure) {
        return try scan.wholeText()
      } catch {
        throw JSONError(message: "\(error.reason) (at byte \(error.position))")
      }
    }
  }
}

private struct Scan {
  struct Failure: Error {
    let reason: StaticString
    let position: Int
  }

  let bytes: UnsafeBufferPointer<UInt8>
  var depthLeft: Int
  var position = 0

  init(bytes: UnsafeBufferPointer<UInt8>, maxDepth: Int) {
    self.bytes = bytes
    self.depthLeft = maxDepth
  }

  mutating func wholeText() throws(Failure) -> Range<Int> {
    skipWhiteSpace()
    let start = position
    try value()
    let end = position
    skipWhiteSpace()
    guard position == bytes.count else { throw failure("unexpected text after the JSON value") }
    return start..<end
  }

  private func failure(_ reason: StaticString) -> Failure {
    Failure(reason: reason, position: position)
  }

  /// The byte at the position, or 0 at the end: a raw NUL is valid nowhere, so both are refused.
  private var next: UInt8 { position < bytes.count ? bytes[position] : 0 }

  private mutating func skipWhiteSpace() {
    while position < bytes.count {
      let byte = bytes[position]
      guard byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D else { return }
      position += 1
    }
  }

  private mutating func value() throws(Failure) {
    switch next {
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "{"): try object()
    case UInt8(ascii: "["): try array()
    case UInt8(ascii: "t"): try literal("true")
    case UInt8(ascii: "f"): try literal("false")
    case UInt8(ascii: "n"): try literal("null")
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    default: throw failure(position < bytes.count ? "expected a JSON value" : "the text ends early")
    }
  }

  private mutating func enter() throws(Failure) {
    guard depthLeft > 0 else { throw failure("arrays and objects are nested too deep") }
    depthLeft -= 1
    position += 1
    skipWhiteSpace()
  }

  private mutating func object() throws(Failure) {
    try enter()
    defer { depthLeft += 1 }
    if next == UInt8(ascii: "}") {
      position += 1
      return
    }
    while true {
      guard next == UInt8(ascii: "\"") else { throw failure("expected a key in quotes") }
      try string()
      skipWhiteSpace()
      guard next == UInt8(ascii: ":") else { throw failure("expected a colon after the key") }
      position += 1
      skipWhiteSpace()
      try value()
      skipWhiteSpace()
      switch next {
      case UInt8(ascii: ","):
        position += 1
        skipWhiteSpace()
      case UInt8(ascii: "}"):
        position += 1
        return
      default: throw failure("expected a comma or the end of the object")
      }
    }
  }

  private mutating func array() throws(Failure) {
    try enter()
    defer { depthLeft += 1 }
    if next == UInt8(ascii: "]") {
      position += 1
      return
    }
    while true {
      try value()
      skipWhiteSpace()
      switch next {
      case UInt8(ascii: ","):
        position += 1
        skipWhiteSpace()
      case UInt8(ascii: "]"):
        position += 1
        return
      default: throw failure("expected a comma or the end of the array")
      }
    }
  }

  private mutating func literal(_ word: StaticString) throws(Failure) {
    for index in 0..<word.utf8CodeUnitCount {
      guard next == word.utf8Start[index] else { throw failure("expected a JSON value") }
      position += 1
    }
  }

  private mutating func number() throws(Failure) {
    if next == UInt8(ascii: "-") { position += 1 }
    if next == UInt8(ascii: "0") {
      position += 1
    } else {
      try digits()
    }
    if next == UInt8(ascii: ".") {
      position += 1
      try digits()
    }
    if next | 0x20 == UInt8(ascii: "e") {
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      try digits()
    }
  }

  private mutating func digits() throws(Failure) {
    let start = position
    while next >= UInt8(ascii: "0"), next <= UInt8(ascii: "9") { position += 1 }
    guard position > start else { throw failure("expected a digit") }
  }

  private mutating func string() throws(Failure) {
    position += 1
    while true {
      position = JSONText.plainRunEnd(bytes, from: position)
      guard position < bytes.count else { throw failure("a string is not closed") }
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") {
        position += 1
        return
      } else if byte == UInt8(ascii: "\\") {
        try escape()
      } else if byte < 0x20 {
        throw failure("a string holds a raw control character")
      } else {
        try multibyte(byte)
      }
    }
  }

  private mutating func escape() throws(Failure) {
    position += 1
    switch next {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 1
    case UInt8(ascii: "u"):
      let unit = try hexUnit()
      if unit & 0xFC00 == 0xDC00 { throw failure("a low surrogate without its high one") }
      guard unit & 0xFC00 == 0xD800 else { return }
      guard next == UInt8(ascii: "\\") else {
        throw failure("a high surrogate without its low one")
      }
      position += 1
      guard next == UInt8(ascii: "u"), try hexUnit() & 0xFC00 == 0xDC00 else {
        throw failure("a high surrogate without its low one")
      }
    default: throw failure("an unknown escape in a string")
    }
  }

  /// Reads the four digits after the `u` at the position.
  private mutating func hexUnit() throws(Failure) -> UInt16 {
    position += 1
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = JSONText.hexValue(next) else {
        throw failure("expected four hexadecimal digits")
      }
      unit = unit << 4 | UInt16(digit)
      position += 1
    }
    return unit
  }

  /// Checks one sequence of two to four bytes: Unicode 15, table 3-7, well-formed UTF-8.
  private mutating func multibyte(_ first: UInt8) throws(Failure) {
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    case 0xF1...0xF3: length = 4
    default: throw failure("invalid UTF-8")
    }
    guard position + length <= bytes.count, second.contains(bytes[position + 1]) else {
      throw failure("invalid UTF-8")
    }
    for index in 2..<max(length, 2) where bytes[position + index] & 0xC0 != 0x80 {
      throw failure("invalid UTF-8")
    }
    position += length
  }
}
