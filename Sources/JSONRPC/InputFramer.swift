/// How messages are told apart on the input.
package enum InputFraming: String, Sendable, CaseIterable {
  /// Decided by the first bytes: `Content-` means headers, anything else lines.
  case auto
  /// One message per line.
  case ndjson
  /// `Content-Length` headers, as in the Language Server Protocol.
  case lsp
}

/// What a framer finds in the bytes it is fed.
enum FramedInput: Equatable {
  /// The input uses headers, so the output must. Comes before anything else.
  case usesHeaders
  case message([UInt8])
  /// A message over the limit was skipped.
  case tooLong
  /// Messages cannot be told apart any more, for this reason.
  case broken(String)
}

/// Cuts a stream of bytes into messages, however the bytes were split on the way.
struct InputFramer {
  private enum Mode {
    case undecided([UInt8])
    case lines(LineFramer)
    case headers(HeaderFramer)
  }

  private var mode: Mode
  private let maxBytes: Int

  /// Starts at the beginning of a stream; messages longer than `maxBytes` are skipped.
  init(_ framing: InputFraming, maxBytes: Int) {
    self.maxBytes = maxBytes
    mode =
      switch framing {
      case .auto: .undecided([])
      case .ndjson: .lines(LineFramer(maxBytes: maxBytes))
      case .lsp: .headers(HeaderFramer(maxBytes: maxBytes))
      }
  }

  /// Takes the next bytes and delivers what is complete, until `deliver` returns false.
  mutating func feed(_ bytes: ArraySlice<UInt8>, _ deliver: (FramedInput) -> Bool) {
    switch mode {
    case .undecided(let start):
      let known = start + bytes
      guard decide(known) else {
        mode = .undecided(known)
        return
      }
      feed(known[...], deliver)
    case .lines(var framer):
      mode = .undecided([])  // Gives up its copy, so that the framer's buffer is not copied.
      framer.feed(bytes, deliver)
      mode = .lines(framer)
    case .headers(var framer):
      mode = .undecided([])
      framer.feed(bytes, deliver)
      mode = .headers(framer)
    }
  }

  /// Delivers what the end of the stream completes.
  mutating func finish(_ deliver: (FramedInput) -> Bool) {
    switch mode {
    case .undecided(let start):
      var framer = LineFramer(maxBytes: maxBytes)
      framer.feed(start[...], deliver)
      framer.finish(deliver)
    case .lines(var framer): framer.finish(deliver)
    case .headers(var framer): framer.finish(deliver)
    }
  }

  /// Chooses the mode as soon as the first bytes tell.
  private mutating func decide(_ bytes: [UInt8]) -> Bool {
    let wanted = Array("content-".utf8)
    let matches = zip(bytes, wanted).allSatisfy { $0 | 0x20 == $1 }
    guard !matches || bytes.count >= wanted.count else { return false }
    mode =
      matches
      ? .headers(HeaderFramer(maxBytes: maxBytes)) : .lines(LineFramer(maxBytes: maxBytes))
    return true
  }
}
