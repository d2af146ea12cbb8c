@testable import JSONRPC
import JSON
import Testing

@Suite struct `Request ids` {
  @Test(arguments: [
    "0", "-1", "9007199254740993", "9223372036854775808", "123456789012345678901234567890",
    #""1""#, #""""#, #""é\u0061""#,
  ])
  func `integers of any size and strings keep their text`(_ text: String) throws {
    let node = try JSONNode(parsing: Array(text.utf8))
    #expect(RequestID(node)?.text == text)
  }

  @Test(arguments: ["null", "1.5", "1.0", "1e3", "true", "{}", "[1]"])
  func `anything else is no id`(_ text: String) throws {
    #expect(RequestID(try JSONNode(parsing: Array(text.utf8))) == nil)
  }

  @Test func `different spellings of an accent are different ids`() throws {
    let composed = RequestID(try JSONNode(parsing: Array("\"\u{E9}\"".utf8)))
    let decomposed = RequestID(try JSONNode(parsing: Array("\"e\u{301}\"".utf8)))
    #expect(composed != decomposed)
  }
}
