import JSON
@testable import JSONRPC

/// One input of libFuzzer: its first byte says how the rest is cut, the rest is what a host sends.
///
/// A crash is a finding, and so is: messages that depend on where the bytes were cut, a message
/// over the limit, a valid JSON text that the writer makes invalid or breaks into lines, and a
/// redacted text that is no JSON.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLines(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: start, count: count))
  guard let first = input.first else { return 0 }
  let framing = InputFraming.allCases[Int(first) % 3]
  let bytes = Array(input.dropFirst())
  let whole = frames(bytes, by: max(1, bytes.count), framing)
  precondition(whole == frames(bytes, by: Int(first) % 7 + 1, framing), "it depends on the cuts")
  for case .message(let message) in whole {
    precondition(message.count <= maxBytes, "a message is over the limit")
    check(message)
  }
  return 0
}

private let maxBytes = 1 << 12

private func frames(_ bytes: [UInt8], by size: Int, _ framing: InputFraming) -> [FramedInput] {
  var framer = InputFramer(framing, maxBytes: maxBytes)
  var found: [FramedInput] = []
  var goesOn = true
  let take = { (framed: FramedInput) in
    found.append(framed)
    // As the connection does: nothing is read after headers that cannot be.
    if case .broken = framed { goesOn = false }
    return goesOn
  }
  for start in stride(from: 0, to: bytes.count, by: size) where goesOn {
    framer.feed(bytes[start..<min(start + size, bytes.count)], take)
  }
  if goesOn { framer.finish(take) }
  return found
}

private func check(_ message: [UInt8]) {
  guard let node = try? JSONNode(parsing: message) else {
    precondition(!Redaction.text(of: message).contains("{"), "what is no JSON was shown")
    return
  }
  visit(node)
  _ = Envelope(node)
  node.forEachElement {
    _ = Envelope($0)
    return true
  }
  var writer = JSONWriter()
  writer.raw(node.raw)
  let written = writer.take()
  precondition(!written.contains(0x0A), "the writer breaks a line")
  guard let again = try? JSONNode(parsing: written) else {
    preconditionFailure("the writer makes JSON invalid")
  }
  precondition(again.kind == node.kind, "the writer makes another kind of value")
  let shown = Array(Redaction.text(of: message).utf8)
  precondition((try? JSONNode(parsing: shown)) != nil, "redaction makes JSON invalid")
}

/// Touches every value as methods do.
private func visit(_ node: JSONNode) {
  _ = try? node.string()
  _ = try? node.int()
  _ = try? node.double()
  _ = RequestID(node)
  _ = node.pointer
  if var fields = try? JSONFields(node) {
    _ = try? fields.optionalString("method")
    _ = try? fields.optionalInt("id", in: 0...100)
    _ = try? fields.optionalStringArray("params")
    try? fields.finish()
  }
  node.forEachElement {
    visit($0)
    return true
  }
  node.forEachMember { key, value in
    _ = try? key.string()
    visit(value)
    return true
  }
}
