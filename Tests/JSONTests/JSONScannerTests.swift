import JSON
import Testing

@Suite struct `JSON scanner` {
  static let valid = [
    "null", " true\t", "false\r\n", "0", "-0", "-1.5e+10", "1E3", "1e-2", #""""#, "[]", "{}",
    #"{"a":[1,{"b":null}], "c" : "d"}"#, #""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#,
    "\"é€😀\u{2028}\u{7F}\"", "[ [ ] , { } ]", #"{"a":1,"a":2}"#, #""12345678901234567890é""#,
    "\"\u{80}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}\"",
  ]

  @Test(arguments: valid)
  func `valid texts are accepted`(_ text: String) throws {
    _ = try JSONScanner.scan(Array(text.utf8))
  }

  static let invalid = [
    "", " ", "nul", "nulll", "True", "01", "-", "+1", "1.", ".5", "1e", "1e+", "NaN", "Infinity",
    "0x1", #"""#, #""\"#, #""\x""#, #""\u12g4""#, #""\u12"#, "'a'", "[", "]", "[1", "[1,]", "[,1]",
    "[1 2]", "{", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a" 1}"#, "{a:1}",
    #"{"a":1 "b":2}"#,
    "1 2", "{}x", "[1}", #"{"a":1]"#, "\"a\nb\"", "\"a\tb\"", "\"a\u{0}b\"", "\u{0}", "1\u{0}",
    #""\ud800""#, #""\ud800\u0041""#, #""\udc00""#, #""\ud83dx""#, #""\ud83d\n""#, "/* */ 1", "#",
  ]

  @Test(arguments: invalid)
  func `invalid texts are refused`(_ text: String) {
    #expect(throws: JSONError.self) { try JSONScanner.scan(Array(text.utf8)) }
  }

  static let invalidUTF8: [[UInt8]] = [
    [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x9F, 0xBF], [0xE2, 0x82],
    [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
    [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xFF], [0xFE],
  ]

  @Test(arguments: invalidUTF8)
  func `bytes that are no UTF-8 are refused`(_ bytes: [UInt8]) {
    for padding in 0...9 {
      let text = [0x22] + Array(repeating: UInt8(ascii: "a"), count: padding) + bytes + [0x22]
      #expect(throws: JSONError.self) { try JSONScanner.scan(text) }
    }
  }

  @Test func `a special byte is seen at every place of a word`() throws {
    for length in 0...40 {
      let plain = String(repeating: "a", count: length)
      for special in ["\n", "\u{1F}"] {
        #expect(throws: JSONError.self) {
          try JSONScanner.scan(Array("\"\(plain)\(special)b\"".utf8))
        }
      }
      for text in ["\"\(plain)\"", "\"\(plain)\\n\"", "\"\(plain)é\"", "\"\(plain) !~\u{7F}\""] {
        #expect(try JSONScanner.scan(Array(text.utf8)).count == text.utf8.count)
      }
    }
  }

  @Test(arguments: [("[", "]"), ("{\"a\":", "}")])
  func `nesting is bounded`(_ open: String, _ close: String) throws {
    func nested(_ depth: Int) -> [UInt8] {
      Array(
        (String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8
      )
    }
    _ = try JSONScanner.scan(nested(128))
    #expect(throws: JSONError.self) { try JSONScanner.scan(nested(129)) }
    #expect(throws: JSONError.self) { try JSONScanner.scan(nested(100_000)) }
    #expect(throws: JSONError.self) { try JSONScanner.scan(nested(3), maxDepth: 2) }
  }

  @Test func `the error names the byte`() {
    let error = #expect(throws: JSONError.self) { try JSONScanner.scan(Array("[1,}".utf8)) }
    #expect(error == JSONError(message: "expected a JSON value (at byte 3)"))
  }

  @Test func `white space around the value is not part of it`() throws {
    #expect(try JSONScanner.scan(Array(" \r\n[1] ".utf8)) == 3..<6)
  }
}
