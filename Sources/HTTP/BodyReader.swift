import LocalFiles
import TransferModel

/// The body of a request as one run of bytes that can be read again from any place.
struct BodyReader {
  let length: Int64
  private let pieces: [HTTPBodyPiece]
  private let source: HTTPSource?
  /// The next byte to read.
  private(set) var offset: Int64 = 0
  private var piece = 0
  private var offsetInPiece: Int64 = 0

  init(_ pieces: [HTTPBodyPiece], source: HTTPSource?) {
    self.pieces = pieces
    self.source = source
    length = pieces.reduce(0) { $0 + $1.length }
  }

  /// Whether any of it is the transfer's content.
  var hasSource: Bool {
    pieces.contains { piece in
      if case .source = piece { true } else { false }
    }
  }

  /// How many of the first `count` bytes are the transfer's content.
  func sourceBytes(inFirst count: Int64) -> Int64 {
    var left = count
    var found: Int64 = 0
    for piece in pieces where left > 0 {
      let part = min(left, piece.length)
      if case .source = piece { found += part }
      left -= part
    }
    return found
  }

  /// Reads from another place on.
  mutating func seek(to target: Int64) {
    (offset, piece, offsetInPiece) = (0, 0, target)
    while piece < pieces.count, offsetInPiece >= pieces[piece].length {
      offsetInPiece -= pieces[piece].length
      piece += 1
    }
    offset = target
  }

  /// Fills the buffer as far as the body goes; returns how much was read.
  /// - Throws: `ERR_FILE_CHANGED` where the source has fewer bytes than were promised, or what
  ///   reading it came to.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(TransferError) -> Int {
    var done = 0
    while done < buffer.count, piece < pieces.count {
      let part = Int(min(Int64(buffer.count - done), pieces[piece].length - offsetInPiece))
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + part])
      switch pieces[piece] {
      case .bytes(let bytes):
        let from = Int(offsetInPiece)
        bytes.withUnsafeBytes { room.copyMemory(from: .init(rebasing: $0[from..<from + part])) }
      case .source(let range):
        try readSource(at: range.lowerBound + offsetInPiece, into: room)
      }
      done += part
      offsetInPiece += Int64(part)
      if offsetInPiece == pieces[piece].length { (piece, offsetInPiece) = (piece + 1, 0) }
    }
    offset += Int64(done)
    return done
  }

  private func readSource(
    at offset: Int64,
    into room: UnsafeMutableRawBufferPointer
  ) throws(TransferError) {
    switch source {
    case .bytes(let bytes):
      guard offset >= 0, offset + Int64(room.count) <= bytes.count else {
        throw changed("The content")
      }
      let from = Int(offset)
      bytes.withUnsafeBytes { room.copyMemory(from: .init(rebasing: $0[from..<from + room.count])) }
    case .descriptor(let number, let name):
      let count = try Descriptor.read(number, at: offset, into: room, path: name)
      guard count == room.count else { throw changed("'\(name)'") }
    case nil:
      throw TransferError(.unknown, "A request sends a range of a source, but was given no source.")
    }
  }

  private func changed(_ what: String) -> TransferError {
    TransferError(
      .fileChanged,
      "\(what) has become shorter while it was sent; send it again once nobody writes to it."
    )
  }
}
