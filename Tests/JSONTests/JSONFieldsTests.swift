import JSON
import Testing

@Suite struct `JSON fields` {
  enum Mode: String, CaseIterable {
    case drain, now
  }

  /// Reads one object with every kind of reader.
  func read(_ text: String) throws(JSONError) -> [String] {
    var fields = try JSONFields(try JSONNode(parsing: Array(text.utf8)))
    let channel = try fields.string("channel")
    let limit = try fields.optionalInt("limit", in: 1...100)
    let detach = try fields.bool("detach", default: false)
    let mode: Mode? = try fields.optionalEnum("mode")
    let tags = try fields.optionalStringArray("tags")
    let inner = try fields.optionalObject("inner") { inner throws(JSONError) in
      try inner.int("size")
    }
    let message = fields.raw("message").map { String(decoding: $0.bytes, as: UTF8.self) }
    let clears = fields.optionalNode("clear")?.isNull
    try fields.finish()
    return [
      channel, "\(limit ?? -1)", "\(detach)", mode?.rawValue ?? "-",
      tags?.joined(separator: "+") ?? "-", "\(inner ?? -1)", message ?? "-",
      clears.map { "\($0)" } ?? "-",
    ]
  }

  @Test(arguments: [
    (#"{"channel":"a"}"#, ["a", "-1", "false", "-", "-", "-1", "-", "-"]),
    (
      #"{"clear":null,"message": {"x" : 1} ,"inner":{"size":1e3},"tags":["x","y"],"mode":"now","#
        + #""detach":true,"limit":100,"ch\u0061nnel":"é"}"#,
      ["é", "100", "true", "now", "x+y", "1000", #"{"x" : 1}"#, "true"]
    ),
    (
      #"{"channel":"a","limit":null,"detach":null,"mode":null,"tags":null,"inner":null,"message":null}"#,
      ["a", "-1", "false", "-", "-", "-1", "-", "-"]
    ),
  ])
  func `members are read by name; null means absent`(_ text: String, _ expected: [String]) throws {
    #expect(try read(text) == expected)
  }

  static let known = "channel, limit, detach, mode, tags, inner, message, clear"

  static let refused: [(String, String, String)] = [
    ("[]", "", "must be an object"),
    ("{}", "/channel", "is required"),
    (#"{"channel":null}"#, "/channel", "is required"),
    (#"{"chanel":"a"}"#, "/channel", "is required (did you mean `channel`? found `chanel`)"),
    (#"{"channel":1}"#, "/channel", "must be a string"),
    (#"{"channel":"a\u0000"}"#, "/channel", "must not hold the character NUL"),
    (#"{"channel":"a","limit":0}"#, "/limit", "must be an integer from 1 to 100"),
    (#"{"channel":"a","limit":1.5}"#, "/limit", "must be an integer from 1 to 100"),
    (#"{"channel":"a","limit":"1"}"#, "/limit", "must be an integer from 1 to 100"),
    (#"{"channel":"a","detach":1}"#, "/detach", "must be true or false"),
    (#"{"channel":"a","mode":"nwo"}"#, "/mode", "must be one of drain, now; did you mean `now`?"),
    (#"{"channel":"a","mode":7}"#, "/mode", "must be one of drain, now"),
    (#"{"channel":"a","tags":"x"}"#, "/tags", "must be an array of strings"),
    (#"{"channel":"a","tags":["x",1]}"#, "/tags/1", "must be a string"),
    (#"{"channel":"a","inner":{}}"#, "/inner/size", "is required"),
    (
      #"{"channel":"a","inner":{"size":1,"sice":2}}"#, "/inner/sice",
      "is not a parameter; did you mean `size`? (known: size)"
    ),
    (#"{"channel":"a","cipherKey":"x"}"#, "/cipherKey", "is not a parameter (known: \(known))"),
    (#"{"channel":"a","x":1,"channel":"b"}"#, "/channel", "is given twice"),
    (#"{"channel":"a","lim\u0069t":1,"limit":2}"#, "/limit", "is given twice"),
  ]

  @Test(arguments: refused)
  func `what is wrong is named with its pointer`(
    _ text: String,
    _ pointer: String,
    _ message: String
  ) {
    let error = #expect(throws: JSONError.self) { try read(text) }
    #expect(error == JSONError(pointer: pointer, message: message))
  }

  @Test func `an object with absurdly many members is refused before they are compared`() {
    let members = (0..<300_000).map { "\"k\($0)\":0" }.joined(separator: ",")
    let error = #expect(throws: JSONError.self) { try read("{\(members)}") }
    #expect(error?.message == "has more than 256 members")
  }

  @Test func `an error never repeats a long name`() throws {
    let name = String(repeating: "k", count: 1 << 20)
    let error = #expect(throws: JSONError.self) { try read("{\"channel\":\"a\",\"\(name)\":0}") }
    #expect(try #require(error).description.utf8.count < 400)
  }

  @Test func `the names asked for are remembered, and nothing is asked of no object`() throws {
    var fields = JSONFields()
    #expect(try fields.optionalString("a") == nil)
    #expect(try fields.optionalBool("b") == nil)
    try fields.finish()
    #expect(fields.askedNames == ["a", "b"])
  }
}
