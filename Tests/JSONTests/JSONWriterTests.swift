import JSON
import Testing

@Suite struct `JSON writer` {
  func written(_ body: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    body(&writer)
    return String(decoding: writer.take(), as: UTF8.self)
  }

  @Test func `what could end a line or act on a terminal is escaped`() {
    let text = written {
      $0.string("a\"\\/\u{8}\t\n\u{C}\r\u{1}\u{7F}\u{85}\u{2028}\u{2029}é€😀\u{86}\u{202A}")
    }
    #expect(
      text == #""a\"\\/\b\t\n\f\r\u0001\u007f\u0085\u2028\u2029é€😀"# + "\u{86}\u{202A}\""
    )
  }

  @Test func `every scalar survives writing and reading`() throws {
    let blocks = stride(from: 0, through: 0x10FFFF, by: 61).compactMap {
      Unicode.Scalar(UInt32($0))
    }
    let low = (0..<0x3000).compactMap { Unicode.Scalar(UInt32($0)) }
    let text = String(String.UnicodeScalarView(low + blocks))
    let line = written { $0.string(text) }
    #expect(try JSONNode(parsing: Array(line.utf8)).string().utf8.elementsEqual(text.utf8))
    #expect(
      !line.unicodeScalars.contains {
        "\u{0}"..."\u{1F}" ~= $0 || "\u{7F}\u{85}\u{2028}\u{2029}".unicodeScalars.contains($0)
      }
    )
  }

  @Test func `commas stand where they are due and nil fields are left out`() {
    let text = written { writer in
      writer.beginObject()
      writer.field("a", "x")
      writer.field("none", nil as String?)
      writer.field("b", 1)
      writer.field("c", Int64.min)
      writer.field("d", 0.5)
      writer.field("e", true)
      writer.field("f", ["x", "y"])
      writer.field("g", RawJSON(validated: Array("[1, 2]".utf8)))
      writer.object("h") { $0.field("i", 2) }
      writer.key("j")
      writer.beginArray()
      writer.null()
      writer.beginArray()
      writer.endArray()
      writer.beginObject()
      writer.endObject()
      writer.double(.infinity)
      writer.verbatim("9007199254740993")
      writer.endArray()
      writer.endObject()
    }
    #expect(
      text
        == #"{"a":"x","b":1,"c":-9223372036854775808,"d":0.5,"e":true,"f":["x","y"],"g":[1, 2],"#
        + #""h":{"i":2},"j":[null,[],{},null,9007199254740993]}"#
    )
  }

  @Test(arguments: [0, 7, 10, -1, 1_234_567_890, .max, .min] as [Int64])
  func `integers are written in full`(_ value: Int64) {
    #expect(written { $0.int(value) } == "\(value)")
  }

  @Test func `free-form values stay as they came but on one line`() throws {
    let raw = RawJSON(
      validated: Array("{\n\t\"a\" : \"\u{2028}\u{85}\u{7F}é\\n\",\r\n \"b\":1.50}".utf8)
    )
    #expect(written { $0.raw(raw) } == #"{"a" : "\u2028\u0085\u007fé\n", "b":1.50}"#)
  }

  @Test func `a writer can go on inside an object begun elsewhere`() {
    var writer = JSONWriter(insideOf: true)
    writer.field("b", 2)
    writer.endObject()
    #expect(String(decoding: writer.take(), as: UTF8.self) == #","b":2}"#)
  }
}
