@testable import JSONRPC
import Testing

@Suite struct `Input framing` {
  /// Feeds `bytes` in pieces of `size` and collects what is delivered.
  func frames(
    _ bytes: [UInt8],
    by size: Int,
    _ framing: InputFraming,
    maxBytes: Int = 64
  ) -> [FramedInput] {
    var framer = InputFramer(framing, maxBytes: maxBytes)
    var found: [FramedInput] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      framer.feed(bytes[start..<min(start + size, bytes.count)]) {
        found.append($0)
        return true
      }
    }
    framer.finish {
      found.append($0)
      return true
    }
    return found
  }

  func message(_ text: String) -> FramedInput { .message(Array(text.utf8)) }

  @Test func `lines come out the same however the bytes were split`() {
    let long = String(repeating: "x", count: 65)
    let input =
      "\u{FEFF}one\n\n  \t\r\n\r\ntwo\r\n\"😀\u{2028}é\r\r\n" + String(repeating: "y", count: 64)
      + "\r\n\(long)\n\(long)\(long)\r\nafter\n\u{FEFF}last"
    let expected = [
      message("one"), message("two"), message("\"😀\u{2028}é\r"),
      message(String(repeating: "y", count: 64)), .tooLong, .tooLong, message("after"),
      message("\u{FEFF}last"),
    ]
    let bytes = Array(input.utf8)
    for framing in [InputFraming.auto, .ndjson] {
      for size in 1...bytes.count {
        #expect(frames(bytes, by: size, framing) == expected, "in pieces of \(size)")
      }
    }
  }

  @Test func `bodies come out the same however the bytes were split`() {
    let input =
      "Content-Length: 4\r\n\r\n\"é\"Content-Type: application/json; charset=utf-8\r\n"
      + "content-length:  6\t \n\n\"😀\"" + "Content-Length: 65\r\n\r\n"
      + String(repeating: "z", count: 65) + "Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}"
    let expected = [
      .usesHeaders, message("\"é\""), message("\"😀\""), .tooLong, message(""), message("{}"),
    ]
    let bytes = Array(input.utf8)
    for framing in [InputFraming.auto, .lsp] {
      for size in 1...bytes.count {
        #expect(frames(bytes, by: size, framing) == expected, "in pieces of \(size)")
      }
    }
  }

  @Test(arguments: [
    "Content-Length: x\r\n\r\n{}", "Content-Length: -1\r\n\r\n", "Content-Length:\r\n\r\n",
    "Content-Length: 99999999999999999999\r\n\r\n",
    "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "Content-Type: x\r\n\r\n{}", "Content-Length: 2\r\n{}\r\n", "Content-Length: 3\r\n\r\n{}",
    "Content-Length: 2\r\n", "Content-Length: 2\r\n\r\n{}junk\r\n\r\n",
    "Content-X: " + String(repeating: "x", count: 5000),
  ])
  func `a broken header block ends the stream, once`(_ input: String) {
    for size in [1, 3, input.utf8.count] {
      let found = frames(Array(input.utf8), by: size, .auto)
      let broken = found.filter { if case .broken = $0 { true } else { false } }
      #expect(broken.count == 1)
      #expect(found.last == broken.first)
    }
  }

  @Test(arguments: ["Commit\n{}\n", "C\n{}\n", "Content\n{}\n", "contentious\n{}"])
  func `a line that begins like a header is a line`(_ input: String) {
    for size in 1...4 {
      let found = frames(Array(input.utf8), by: size, .auto)
      #expect(found.count == 2)
      #expect(found.last == message("{}"))
    }
  }

  @Test func `a short unfinished start is a line at the end of the input`() {
    #expect(frames(Array("Cont".utf8), by: 1, .auto) == [message("Cont")])
    #expect(frames([], by: 1, .auto) == [])
  }

  @Test func `nothing is delivered after a refusal to go on`() {
    var framer = InputFramer(.ndjson, maxBytes: 64)
    var count = 0
    framer.feed(Array("1\n2\n3\n".utf8)[...]) { _ in
      count += 1
      return count < 2
    }
    #expect(count == 2)
  }

  @Test func `a line far over the limit is skipped in flat memory`() {
    var framer = LineFramer(maxBytes: 1 << 20)
    let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 16)
    var found: [FramedInput] = []
    let deliver = { (framed: FramedInput) in
      found.append(framed)
      return true
    }
    for _ in 0..<272 {
      framer.feed(piece[...], deliver)
      #expect(framer.line.capacity <= 3 << 20)
    }
    framer.feed(Array("\nnext\n".utf8)[...], deliver)
    #expect(found == [.tooLong, message("next")])
  }
}
