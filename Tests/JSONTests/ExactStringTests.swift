import JSON
import Testing

@Suite struct `Exact strings` {
  private struct Named: Hashable {
    @ExactString var name: String
  }

  @Test(arguments: [("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), ("a", "b"), ("a", "")])
  func `two spellings are two texts`(_ one: String, _ other: String) {
    #expect(ExactString(one) != ExactString(other))
    #expect(Set([ExactString(one), ExactString(other)]).count == 2)
    #expect(Set([Named(name: one), Named(name: other)]).count == 2)
    #expect((ExactString(one) < ExactString(other)) != (ExactString(other) < ExactString(one)))
    var numbers: [ExactString: Int] = [:]
    numbers[one] = 1
    numbers[other] = 2
    #expect((numbers[one], numbers[other]) == (1, 2))
  }

  @Test func `the same bytes are one text`() {
    #expect(ExactString("\u{E9}") == ExactString(String(decoding: [0xC3, 0xA9], as: UTF8.self)))
    #expect(Set([Named(name: "a"), Named(name: "a")]).count == 1)
  }
}
