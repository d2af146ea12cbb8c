import JSON
import Testing

@Suite struct `JSON writer` {
  @Test func `what could end a line or act on a terminal is escaped`() {
    var writer = JSONWriter()
    writer.string("a\"\\/\u{8}\t\n\u{C}\r\u{1}\u{7F}\u{85}\u{2028}\u{2029}é€😀")
    let expected =
      #""a\"\\/\b\t\n\f\r\u0001\u007f\u0085\u2028\u2029é€😀""#
    #expect(String(decoding: writer.take(), as: UTF8.self) == expected)
  }
}
