import Backends
import TransferModel

/// A page of keys.
struct ListedPage: Equatable {
  var keys: [ListedKey]
  /// With their trailing delimiter.
  var prefixes: [String]
  /// Opaque; nil on the last page.
  var next: String?

  struct ListedKey: Equatable {
    var key: String
    var size: Int64?
    var modifiedMs: Int64?
  }

  /// The answer to ListObjectsV2; nil where it is none.
  init?(_ bytes: [UInt8]) {
    guard let root = XMLNode.parse(bytes), root.name == "ListBucketResult" else { return nil }
    // Not every server does what it was asked: it says what it did.
    let isEncoded = root.text("EncodingType")?.lowercased() == "url"
    func name(_ text: String) -> String? {
      isEncoded ? PercentEncoding.decode(text, plusIsSpace: true) : text
    }
    keys = []
    for content in root.all("Contents") {
      guard let key = content.text("Key").flatMap(name) else { return nil }
      let modified = content.text("LastModified").flatMap { ServerTime.parse(iso: $0) }
      keys.append(
        ListedKey(key: key, size: content.size, modifiedMs: modified)
      )
    }
    prefixes = []
    for common in root.all("CommonPrefixes") {
      guard let prefix = common.text("Prefix").flatMap(name) else { return nil }
      prefixes.append(prefix)
    }
    if root.text("IsTruncated") == "true" {
      // One that leads to the page it came with would be followed for ever.
      guard let token = root.text("NextContinuationToken"), !token.isEmpty,
        token != root.text("ContinuationToken")
      else { return nil }
      next = token
    }
  }
}

extension XMLNode {
  /// Bytes of what an element of a list stands for; nil for what is no number of bytes.
  fileprivate var size: Int64? { text("Size").flatMap { Int64($0) }.flatMap { $0 < 0 ? nil : $0 } }
}

/// The parts that a server has of an upload.
struct ListedParts: Equatable {
  var parts: [Int: ListedPart]
  /// The `part-number-marker` of the next page; nil on the last.
  var next: Int?

  struct ListedPart: Equatable {
    var part: UploadedPart
    var size: Int64
  }

  /// The answer to ListParts; nil where it is none.
  init?(_ bytes: [UInt8]) {
    guard let root = XMLNode.parse(bytes), root.name == "ListPartsResult" else { return nil }
    parts = [:]
    for part in root.all("Part") {
      guard let number = part.text("PartNumber").flatMap({ Int($0) }),
        let etag = part.text("ETag"), let size = part.size
      else { return nil }
      // What is none cannot be completed with, so the part is sent again.
      guard etag.isVisible else { continue }
      let crc32c = part.text("ChecksumCRC32C").flatMap { $0.isVisible ? $0 : nil }
      parts[number] = ListedPart(part: UploadedPart(etag: etag, crc32c: crc32c), size: size)
    }
    // rclone leaves the element out.
    guard root.text("IsTruncated") == "true" else { return }
    guard
      let marker = root.text("NextPartNumberMarker").flatMap({ Int($0) }) ?? parts.keys.max(),
      marker > 0
    else { return nil }
    next = marker
  }
}

/// What creating, completing and copying answer with.
enum S3Answer {
  /// Of CreateMultipartUpload; rclone's root has a name of its own.
  static func uploadID(_ bytes: [UInt8]) -> String? {
    guard let root = XMLNode.parse(bytes), root.name.hasPrefix("InitiateMultipartUpload"),
      let id = root.text("UploadId"), !id.isEmpty
    else { return nil }
    return id
  }

  /// The uploads to a key that ListMultipartUploads tells of; not every server heeds what was asked.
  static func uploadIDs(of key: String, _ bytes: [UInt8]) -> [String] {
    guard let root = XMLNode.parse(bytes), root.name == "ListMultipartUploadsResult" else {
      return []
    }
    return root.all("Upload").compactMap { upload in
      guard let name = upload.text("Key"), name.utf8.elementsEqual(key.utf8) else { return nil }
      return upload.text("UploadId")
    }
  }

  /// The ETag of a completed upload; nil for anything else, which a status of 200 does not exclude.
  static func completedETag(_ bytes: [UInt8]) -> String? {
    guard let root = XMLNode.parse(bytes), root.name == "CompleteMultipartUploadResult",
      let etag = root.text("ETag"), !etag.isEmpty
    else { return nil }
    return etag
  }

  /// Whether a copy was made, which a status of 200 alone does not say.
  static func isCopied(_ bytes: [UInt8]) -> Bool {
    XMLNode.parse(bytes)?.name == "CopyObjectResult"
  }

  /// The body of CompleteMultipartUpload.
  static func completion(_ parts: [UploadedPart]) -> [UInt8] {
    var text =
      "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
    for (index, part) in parts.enumerated() {
      text += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(XMLNode.escape(part.etag))</ETag>"
      if let crc = part.crc32c { text += "<ChecksumCRC32C>\(XMLNode.escape(crc))</ChecksumCRC32C>" }
      text += "</Part>"
    }
    return Array((text + "</CompleteMultipartUpload>").utf8)
  }
}

/// What a server said of a part it took.
struct UploadedPart: Sendable, Equatable {
  /// As it came, quotes included.
  var etag: String
  /// Base 64, where the server checked one.
  var crc32c: String?
}

extension String {
  /// An ETag without its quotes, as hosts see it.
  var unquoted: String {
    guard utf8.count >= 2, hasPrefix("\""), hasSuffix("\"") else { return self }
    return String(dropFirst().dropLast())
  }

  /// Whether it can be said again as it came, in a header, a body or a checkpoint: as ETags, of visible
  /// ASCII alone.
  var isVisible: Bool { !isEmpty && utf8.allSatisfy { (0x21..<0x7F).contains($0) } }

  /// Whether an ETag tells one version from every other.
  var isValidator: Bool { isVisible && self != "*" && !hasPrefix("W/") }

  /// An ETag as headers carry it.
  var quoted: String { hasPrefix("\"") || hasPrefix("W/") ? self : "\"\(self)\"" }
}
