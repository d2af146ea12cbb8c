import JSON
import Testing

func node(_ text: String) throws -> JSONNode { try JSONNode(parsing: Array(text.utf8)) }

@Suite struct `JSON nodes` {
  @Test(
    arguments: [
      ("1", 1), ("-0", 0), ("1.0", 1), ("1e3", 1000), ("1.5e1", 15), ("100e-2", 1),
      ("0e999999999999", 0),
      ("9223372036854775807", .max), ("-9223372036854775808", .min), ("0.0", 0), ("1.20e1", 12),
      ("1E+2", 100), ("9007199254740993", 9_007_199_254_740_993),
    ] as [(String, Int64)]
  )
  func `integral numbers are integers`(_ text: String, _ value: Int64) throws {
    #expect(try node(text).int() == value)
  }

  @Test(arguments: [
    "1.5", "9223372036854775808", "-9223372036854775809", "1e19", "1e-1", "1e999999999999999999999",
    "1e9223372036854775807", #""1""#, "null", "true", "[]", "0.1e-9223372036854775808",
  ])
  func `fractions, too large numbers and other kinds are no integers`(_ text: String) {
    #expect(throws: JSONError.self) { try node(text).int() }
  }

  @Test(arguments: [
    (#""""#, ""), (#""a\"\\\/b""#, "a\"\\/b"), (#""\b\f\n\r\t""#, "\u{8}\u{C}\n\r\t"),
    (#""\u00e9\u20AC\ud83d\ude00x""#, "é€😀x"), (#""\u0000""#, "\0"), ("\"é😀\"", "é😀"),
  ])
  func `strings come without their escapes`(_ text: String, _ value: String) throws {
    #expect(try node(text).string() == value)
    #expect(try node(text).isString(value))
    #expect(try !node(text).isString(value + "x"))
  }

  @Test(arguments: [("1.25", 1.25), ("-3", -3), ("1e300", 1e300)])
  func `numbers are doubles`(_ text: String, _ value: Double) throws {
    #expect(try node(text).double() == value)
  }

  @Test func `a number beyond all doubles is refused`() {
    #expect(throws: JSONError.self) { try node("1e999").double() }
  }

  @Test func `elements and members keep their order and their text`() throws {
    let value = try node(#" { "b" : [ 1 , "x,]}" , {"y":[]} ] , "\u0061" : null , "c":-1.50 } "#)
    let members = try value.members()
    #expect(members.map(\.key) == ["b", "a", "c"])
    let elements = try members[0].value.elements()
    #expect(
      elements.map { String(decoding: $0.raw.bytes, as: UTF8.self) } == [
        "1", #""x,]}""#, #"{"y":[]}"#,
      ]
    )
    #expect(members[1].value.isNull)
    #expect(String(decoding: members[2].value.bytes, as: UTF8.self) == "-1.50")
  }

  @Test func `a key given twice is refused, however it is spelt`() {
    let error = #expect(throws: JSONError.self) { try node(#"{"a":1,"\u0061":2}"#).members() }
    #expect(error == JSONError(pointer: "/a", message: "is given twice"))
  }

  @Test func `errors point at the value`() throws {
    let value = try node(#"{"x":0,"a/b~":[0,{"é":[true]}]}"#)
    let inner = try value.members()[1].value.elements()[1].members()[0].value.elements()[0]
    let error = #expect(throws: JSONError.self) { try inner.string() }
    #expect(error == JSONError(pointer: "/a~1b~0/1/é/0", message: "must be a string"))
    #expect(try value.members()[1].value.asRoot.elements()[0].pointer == "/0")
    #expect(value.pointer == "")
  }
}

@Suite struct `Canonical JSON` {
  @Test(arguments: [
    (#"{ "b" : 1, "a" : [ 1.0 , "\u0041\/" ] }"#, #"{"a":[1.0,"A/"],"b":1}"#),
    (#"{"é":1,"z":2,"":3,"progress":{"y":1,"x":2}}"#, #"{"":3,"z":2,"é":1}"#),
    (#"[{"b":true,"progress":null}]"#, #"[{"b":true,"progress":null}]"#),
  ])
  func `equal values have one text`(_ text: String, _ expected: String) throws {
    let bytes = try canonical(node(text), excluding: ["progress"])
    #expect(String(decoding: bytes, as: UTF8.self) == expected)
  }
}

@Suite struct `Nearest name` {
  static let known = ["channel", "cipherKey", "contentType", "ref", "file/send", "name"]

  @Test(arguments: [
    ("chanel", "channel"), ("cipherkey", "cipherKey"), ("cihperKey", "cipherKey"),
    ("conten-type", "contentType"), ("reff", "ref"), ("file/sned", "file/send"), ("nam", "name"),
    ("NAME", "name"),
  ])
  func `misspelt names are recognised`(_ name: String, _ expected: String) {
    #expect(NearestName.find(name, in: Self.known) == expected)
  }

  @Test(arguments: ["", "x", "zzz", "timetoken", String(repeating: "channel", count: 100_000)])
  func `other names are not`(_ name: String) {
    #expect(NearestName.find(name, in: Self.known) == nil)
  }
}
