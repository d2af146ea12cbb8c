/// Cuts bytes into lines at LF alone; memory stays at one line of the allowed length.
struct LineFramer {
  private let maxBytes: Int
  /// The present line so far.
  private(set) var line: [UInt8] = []
  private var isSkipping = false
  private var isFirst = true

  init(maxBytes: Int) { self.maxBytes = maxBytes }

  /// Takes the next bytes and delivers complete lines, until `deliver` returns false.
  mutating func feed(_ bytes: ArraySlice<UInt8>, _ deliver: (FramedInput) -> Bool) {
    var rest = bytes
    while let end = rest.firstLineFeed {
      take(rest[..<end])
      rest = rest[(end + 1)...]
      guard endLine(deliver) else { return }
    }
    take(rest)
  }

  /// Delivers a last line that has no LF.
  mutating func finish(_ deliver: (FramedInput) -> Bool) { _ = endLine(deliver) }

  private mutating func take(_ part: ArraySlice<UInt8>) {
    guard !isSkipping else { return }
    // One byte more than allowed may be the CR, which does not count; a BOM does.
    if line.count + part.count > maxBytes + 1 {
      isSkipping = true
      line = []
    } else {
      line.append(contentsOf: part)
    }
  }

  private mutating func endLine(_ deliver: (FramedInput) -> Bool) -> Bool {
    var message: [UInt8] = []
    swap(&message, &line)
    let wasFirst = isFirst
    isFirst = false
    if isSkipping {
      isSkipping = false
      return deliver(.tooLong)
    }
    if message.last == 0x0D { message.removeLast() }
    if wasFirst, message.starts(with: [0xEF, 0xBB, 0xBF]) { message.removeFirst(3) }
    if message.count > maxBytes { return deliver(.tooLong) }
    if message.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return true }
    return deliver(.message(message))
  }
}
