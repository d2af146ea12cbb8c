import JSON

/// An upload in parts: how it is cut, and which parts the server has.
struct MultipartUpload: Sendable, Equatable {
  /// Given by the server.
  let uploadID: String
  /// Of the content, in bytes.
  let size: Int64
  /// Of every part but the last, which some servers insist on.
  let partSize: Int64
  /// Of the source that is being sent.
  let identity: String
  /// Whether the server was told to expect a CRC-32C with every part.
  let hasCRC32C: Bool
  /// By number, from 0; nil for those that the server does not have.
  private(set) var parts: [UploadedPart?]
  /// Bytes that the server has.
  private(set) var settled: Int64 = 0
  private var underWay: Set<Int> = []
  /// No part below is left to be sent.
  private var first = 0

  /// Above this, content is sent in parts.
  static let threshold: Int64 = 16 << 20
  static let defaultPartSize: Int64 = 8 << 20
  /// The most that one part or one PUT can have.
  static let largestPart: Int64 = 5 << 30
  /// Below the 10,000 that S3 allows.
  private static let mostParts: Int64 = 9500
  private static let grain: Int64 = 1 << 20

  /// Begins with nothing sent.
  init(uploadID: String, size: Int64, partSize: Int64, identity: String, hasCRC32C: Bool) {
    self.uploadID = uploadID
    self.hasCRC32C = hasCRC32C
    self.size = size
    self.partSize = partSize
    self.identity = identity
    parts = Array(repeating: nil, count: Int((size + partSize - 1) / partSize))
  }

  /// Equal parts of at least the size that is wanted.
  static func partSize(for size: Int64, wanted: Int64?) -> Int64 {
    // Without a sum, which the largest sizes would overflow.
    let needed = size / mostParts + (size % mostParts == 0 ? 0 : 1)
    return max(wanted ?? defaultPartSize, (needed + grain - 1) / grain * grain)
  }

  /// The bytes of a part.
  func range(of part: Int) -> Range<Int64> {
    let start = Int64(part) * partSize
    return start..<min(start + partSize, size)
  }

  /// Every part, once the server has them all.
  var complete: [UploadedPart]? {
    settled == size ? parts.compactMap { $0 } : nil
  }

  /// Takes the next part to be sent; nil where all that are left are under way.
  mutating func takeNext() -> Int? {
    while first < parts.count, parts[first] != nil || underWay.contains(first) { first += 1 }
    guard first < parts.count else { return nil }
    underWay.insert(first)
    return first
  }

  /// The server has a part.
  mutating func finish(_ part: Int, _ uploaded: UploadedPart) {
    underWay.remove(part)
    if parts[part] == nil { settled += Int64(range(of: part).count) }
    parts[part] = uploaded
  }

  /// A part is to be sent again.
  mutating func giveBack(_ part: Int) {
    underWay.remove(part)
    first = min(first, part)
  }

  /// No part is under way any more.
  mutating func stop() {
    underWay = []
    first = 0
  }

  /// Keeps only the parts that the server has as they are known here, and takes in those that were
  /// not yet written down: nobody else knows the upload.
  mutating func agree(with listed: [Int: ListedParts.ListedPart]) {
    for (index, part) in parts.enumerated() {
      let bytes = Int64(range(of: index).count)
      let there = listed[index + 1].flatMap { $0.size == bytes ? $0.part : nil }
      if let part {
        if there?.etag.unquoted == part.etag.unquoted { continue }
        parts[index] = nil
        settled -= bytes
      } else if let there, !hasCRC32C || there.crc32c != nil {
        finish(index, there)
      }
    }
    stop()
  }
}

/// What a later process needs to go on with an upload.
struct UploadCheckpoint: Equatable {
  /// Tells this upload's object from every other.
  var token: String
  var multipart: MultipartUpload?

  init(token: String, multipart: MultipartUpload?) {
    self.token = token
    self.multipart = multipart
  }

  /// Reads what ``text`` wrote; nil for anything else.
  init?(_ bytes: [UInt8]) {
    do {
      let root = try JSONNode(parsing: bytes)
      var fields = try JSONFields(root)
      token = try fields.string("token")
      guard let uploadID = try fields.optionalString("upload") else { return }
      let size = try fields.int("size")
      let partSize = try fields.int("part")
      guard size > 0, partSize > 0, (size - 1) / partSize < 10_000 else { return nil }
      var multipart = MultipartUpload(
        uploadID: uploadID,
        size: size,
        partSize: partSize,
        identity: try fields.string("identity"),
        hasCRC32C: try fields.optionalBool("crc32c") ?? false
      )
      for (index, node) in try fields.node("parts").elements().enumerated() {
        let text = try node.string()
        guard !text.isEmpty, index < multipart.parts.count else { continue }
        let halves = text.split(separator: " ")
        guard (1...2).contains(halves.count) else { return nil }
        multipart.finish(
          index,
          UploadedPart(etag: String(halves[0]), crc32c: halves.count == 2 ? String(halves[1]) : nil)
        )
      }
      self.multipart = multipart
    } catch {
      return nil
    }
  }

  /// One JSON object; parts are their ETag and, after a blank, their CRC-32C.
  var text: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("token", token)
    if let multipart {
      writer.field("upload", multipart.uploadID)
      writer.field("size", multipart.size)
      writer.field("part", multipart.partSize)
      writer.field("identity", multipart.identity)
      writer.field("crc32c", multipart.hasCRC32C)
      writer.field(
        "parts",
        multipart.parts.map { part in
          part.map { $0.etag + ($0.crc32c.map { " \($0)" } ?? "") } ?? ""
        }
      )
    }
    writer.endObject()
    return writer.take()
  }
}
