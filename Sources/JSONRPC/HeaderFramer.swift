/// Cuts bytes into messages by `Content-Length` headers, counted in bytes.
///
/// A broken header block ends the stream: where the next message begins cannot be known.
struct HeaderFramer {
  private enum State {
    case start
    case header
    case body(missing: Int)
    case skipping(missing: Int)
    case broken
  }

  private let maxBytes: Int
  private var state = State.start
  /// The present header line, or the body so far.
  private var buffer: [UInt8] = []
  private var contentLength: Int?
  private var headerBytes = 0

  /// The longest header block that is read.
  private static let maxHeaderBytes = 4096

  init(maxBytes: Int) { self.maxBytes = maxBytes }

  /// Takes the next bytes and delivers complete messages, until `deliver` returns false.
  mutating func feed(_ bytes: ArraySlice<UInt8>, _ deliver: (FramedInput) -> Bool) {
    var rest = bytes
    if case .start = state {
      state = .header
      guard deliver(.usesHeaders) else { return }
    }
    while !rest.isEmpty {
      switch state {
      case .start, .broken: return
      case .header:
        guard readHeader(&rest, deliver) else { return }
      case .body(let missing):
        let part = rest.prefix(missing)
        rest = rest.dropFirst(part.count)
        buffer.append(contentsOf: part)
        state = .body(missing: missing - part.count)
        guard endBody(deliver) else { return }
      case .skipping(let missing):
        let count = min(missing, rest.count)
        rest = rest.dropFirst(count)
        state = missing == count ? .header : .skipping(missing: missing - count)
      }
    }
  }

  /// Says so when the stream ends inside a message.
  mutating func finish(_ deliver: (FramedInput) -> Bool) {
    switch state {
    case .start, .broken, .skipping: break
    case .header: if headerBytes > 0 { _ = fail("the input ends inside a header block", deliver) }
    case .body: _ = fail("the input ends inside a message", deliver)
    }
  }

  private mutating func fail(_ reason: String, _ deliver: (FramedInput) -> Bool) -> Bool {
    state = .broken
    buffer = []
    _ = deliver(.broken(reason))
    return false
  }

  /// Reads up to the next LF; the bytes after it stay in `rest`.
  private mutating func readHeader(
    _ rest: inout ArraySlice<UInt8>,
    _ deliver: (FramedInput) -> Bool
  ) -> Bool {
    let end = rest.firstLineFeed
    let part = rest[..<(end ?? rest.endIndex)]
    headerBytes += part.count + 1
    guard headerBytes <= Self.maxHeaderBytes else {
      return fail("a header block is longer than \(Self.maxHeaderBytes) bytes", deliver)
    }
    buffer.append(contentsOf: part)
    rest = end.map { rest[($0 + 1)...] } ?? []
    guard end != nil else {
      headerBytes -= 1
      return true
    }
    if buffer.last == 0x0D { buffer.removeLast() }
    var line: [UInt8] = []
    swap(&line, &buffer)
    return line.isEmpty ? endHeader(deliver) : readField(line, deliver)
  }

  private mutating func readField(_ line: [UInt8], _ deliver: (FramedInput) -> Bool) -> Bool {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      return fail("a header line has no colon", deliver)
    }
    let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
    guard name == "content-length" else { return true }
    let value = line[(colon + 1)...].trimmed
    guard contentLength == nil, !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }),
      let length = Int(String(decoding: value, as: UTF8.self))
    else { return fail("`Content-Length` must be given once, as a number of bytes", deliver) }
    contentLength = length
    return true
  }

  private mutating func endHeader(_ deliver: (FramedInput) -> Bool) -> Bool {
    guard let length = contentLength.take() else {
      return fail("a header block has no `Content-Length`", deliver)
    }
    headerBytes = 0
    if length > maxBytes {
      state = .skipping(missing: length)
      return deliver(.tooLong)
    }
    state = .body(missing: length)
    return endBody(deliver)
  }

  private mutating func endBody(_ deliver: (FramedInput) -> Bool) -> Bool {
    guard case .body(missing: 0) = state else { return true }
    state = .header
    var message: [UInt8] = []
    swap(&message, &buffer)
    return deliver(.message(message))
  }
}

extension ArraySlice<UInt8> {
  /// Without the spaces and tabs around it.
  fileprivate var trimmed: ArraySlice<UInt8> {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    guard let last = lastIndex(where: { !isBlank($0) }) else { return [] }
    return self[...last].drop(while: isBlank)
  }
}
