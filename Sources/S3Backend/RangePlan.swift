import JSON

/// How content is fetched piece by piece, and which pieces are there.
///
/// The first piece is small, since it is asked for before anybody knows how large the object is;
/// the others are of one size.
struct RangePlan: Sendable, Equatable {
  /// Of the content that is wanted, in bytes.
  let size: Int64
  /// Bytes that are there.
  private(set) var settled: Int64 = 0
  private var done: [Bool]
  private var underWay: Set<Int> = []
  /// No piece below is left to be fetched.
  private var first = 0

  /// Bytes of the first piece.
  static let firstSize: Int64 = 1 << 20
  /// Bytes of every other, but the last.
  let pieceSize: Int64

  /// Begins with nothing there; pieces that are not written to a file are held in memory.
  init(size: Int64, isFile: Bool = true) {
    self.size = size
    let pieceSize: Int64 = isFile ? 8 << 20 : 1 << 20
    self.pieceSize = pieceSize
    let rest = max(0, size - Self.firstSize)
    let count = size == 0 ? 0 : 1 + Int((rest + pieceSize - 1) / pieceSize)
    done = Array(repeating: false, count: count)
  }

  /// Whether every piece is there.
  var isComplete: Bool { settled == size }

  /// The bytes of a piece, counted from the start of what is wanted.
  func range(of piece: Int) -> Range<Int64> {
    guard piece > 0 else { return 0..<min(Self.firstSize, size) }
    let start = Self.firstSize + Int64(piece - 1) * pieceSize
    return start..<min(start + pieceSize, size)
  }

  /// Takes the next piece to be fetched; nil where all that are left are under way.
  mutating func takeNext() -> Int? {
    while first < done.count, done[first] || underWay.contains(first) { first += 1 }
    guard first < done.count else { return nil }
    underWay.insert(first)
    return first
  }

  /// A piece is there.
  mutating func finish(_ piece: Int) {
    underWay.remove(piece)
    if !done[piece] { settled += Int64(range(of: piece).count) }
    done[piece] = true
  }

  /// All pieces are there.
  mutating func finishAll() {
    for piece in done.indices { finish(piece) }
  }

  /// A piece is to be fetched again.
  mutating func giveBack(_ piece: Int) {
    underWay.remove(piece)
    first = min(first, piece)
  }

  /// Runs of pieces that are there, such as `0-4,7`; the sizes of pieces come first, since another
  /// version may have others.
  var text: String {
    var runs: [String] = []
    var index = 0
    while index < done.count {
      guard done[index] else {
        index += 1
        continue
      }
      let end = done[index...].firstIndex(of: false) ?? done.count
      runs.append(end == index + 1 ? "\(index)" : "\(index)-\(end - 1)")
      index = end
    }
    return "\(Self.firstSize)/\(pieceSize):" + runs.joined(separator: ",")
  }

  /// Reads what ``text`` wrote; nothing is there where it cannot be read.
  init(size: Int64, text: String) {
    self.init(size: size)
    let mark = "\(Self.firstSize)/\(pieceSize):"
    guard text.hasPrefix(mark) else { return }
    for run in text.dropFirst(mark.count).split(separator: ",") {
      let texts = run.split(separator: "-", omittingEmptySubsequences: false)
      let ends = texts.compactMap { Int($0) }
      guard ends.count == texts.count, ends.count <= 2, let start = ends.first, let end = ends.last,
        start <= end, end < done.count
      else {
        continue
      }
      for piece in start...end { finish(piece) }
    }
  }
}

/// What a later process needs to go on with a download.
struct DownloadCheckpoint: Equatable {
  /// Of the object, as it came.
  var etag: String
  /// Of the whole object.
  var size: Int64
  /// ``RangePlan/text``.
  var pieces: String

  init(etag: String, size: Int64, pieces: String) {
    self.etag = etag
    self.size = size
    self.pieces = pieces
  }

  /// Reads what ``text`` wrote; nil for anything else.
  init?(_ bytes: [UInt8]) {
    do {
      var fields = try JSONFields(JSONNode(parsing: bytes))
      etag = try fields.string("etag")
      size = try fields.int("size")
      pieces = try fields.string("pieces")
    } catch {
      return nil
    }
  }

  /// One JSON object.
  var text: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("etag", etag)
    writer.field("size", size)
    writer.field("pieces", pieces)
    writer.endObject()
    return writer.take()
  }
}
