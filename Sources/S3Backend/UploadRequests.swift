import Backends
import TransferModel

/// Where and with what an upload's content is stored.
struct UploadDestination: Sendable, Equatable {
  /// Below the remote's root.
  var path: String
  /// Stored with the content.
  var settable: SettableMetadata
  /// What must hold of the object that is there.
  var condition: WriteCondition
  /// Whether nobody else uploads to this path.
  var isOwn: Bool

  /// An object.
  init(_ put: PutObject) {
    path = put.reference.fullPath
    settable = put.settable
    condition = put.condition
    isOwn = false
  }

  /// A file of a channel, at the path that its layout gives it.
  init(filePath: String, contentType: String) {
    path = filePath
    settable = SettableMetadata(contentType: contentType)
    condition = WriteCondition()
    isOwn = true
  }

  /// Whether anything must hold.
  var isConditional: Bool { condition.ifMatch != nil || condition.ifNoneMatch != nil }

  /// Refuses what no S3 server can keep or tell, before any byte moves.
  func check(token: String) throws(TransferError) {
    // As many bytes as there will be once the digest is known.
    let marks = MetadataHeaders.Marks(token: token, sha256: String(repeating: "0", count: 64))
    _ = try MetadataHeaders.make(settable, marks)
    if let wanted = condition.ifNoneMatch, wanted != "*" {
      throw TransferError(
        .unsupported,
        "S3 knows only ifNoneMatch \"*\": put only where nothing is.",
        field: "/ifNoneMatch"
      )
    }
    if let etag = condition.ifMatch, !etag.isVisible {
      throw TransferError(
        .invalidArgument,
        "An ETag has neither blanks nor control characters; take ifMatch from object/get.",
        field: "/ifMatch"
      )
    }
    if condition.ifMatch == "*" || (condition.ifMatch != nil && condition.ifNoneMatch != nil) {
      throw TransferError(
        .unsupported,
        "S3 knows ifMatch with one ETag, and not beside ifNoneMatch.",
        field: "/ifMatch"
      )
    }
  }
}

/// The requests of one upload.
struct UploadRequests {
  let remote: S3Remote
  let destination: UploadDestination
  let token: String

  var key: String {
    get throws(TransferError) { try remote.key(destination.path) }
  }

  /// Whether new uploads in parts have a CRC-32C with every part.
  var hasCRC32C: Bool {
    switch remote.checksum {
    case .crc32c: true
    case .contentMD5, nil: false
    }
  }

  /// All of the content at once.
  func put(_ content: OutgoingContent?) throws(TransferError) -> HTTPRequest {
    let size = content?.size ?? 0
    var request = remote.request(
      .put,
      try key,
      headers: try stored(sha256: content?.sha256) + conditions,
      body: size == 0 ? [] : [.source(0..<size)]
    )
    request.checksum = remote.checksum
    request.lane = .bulk
    return request
  }

  /// Asked again, it may leave an upload behind that nobody knows of, though one without parts.
  func create() throws(TransferError) -> HTTPRequest {
    var headers = try stored(sha256: nil)
    if hasCRC32C { headers.append(HTTPHeader("x-amz-checksum-algorithm", "CRC32C")) }
    return remote.request(.post, try key, query: [("uploads", "")], headers: headers, body: [])
  }

  func part(_ multipart: MultipartUpload?, _ part: Int) throws(TransferError) -> HTTPRequest {
    guard let multipart else { preconditionFailure("a part of nothing") }
    var request = remote.request(
      .put,
      try key,
      query: [("partNumber", "\(part + 1)"), ("uploadId", multipart.uploadID)],
      body: [.source(multipart.range(of: part))]
    )
    // What was agreed on when the upload began holds for all its parts.
    switch (multipart.hasCRC32C, remote.checksum) {
    case (true, _): request.checksum = .crc32c(header: S3Remote.crc32cHeader)
    case (false, nil): request.checksum = nil
    case (false, _): request.checksum = .contentMD5
    }
    request.lane = .bulk
    return request
  }

  func list(_ multipart: MultipartUpload?, after number: Int) throws(TransferError) -> HTTPRequest {
    guard let multipart else { preconditionFailure("the parts of nothing") }
    var query = [("uploadId", multipart.uploadID), ("max-parts", "1000")]
    if number > 0 { query.append(("part-number-marker", "\(number)")) }
    return remote.request(.get, try key, query: query)
  }

  func complete(_ multipart: MultipartUpload?) throws(TransferError) -> HTTPRequest {
    guard let multipart, let parts = multipart.complete else {
      preconditionFailure("completed before all parts were sent")
    }
    var request = remote.request(
      .post,
      try key,
      query: [("uploadId", multipart.uploadID)],
      headers: [HTTPHeader("Content-Type", "application/xml")] + conditions,
      body: [.bytes(S3Answer.completion(parts))]
    )
    // Servers may copy all parts together before they answer.
    request.answerTimeout = .seconds(600)
    return request
  }

  func abort(_ uploadID: String) throws(TransferError) -> HTTPRequest {
    remote.request(.delete, try key, query: [("uploadId", uploadID)])
  }

  /// Asks for all uploads to this path that are not completed, with keys as they are: SeaweedFS says
  /// that it encodes them, and does not.
  func listUploads() throws(TransferError) -> HTTPRequest {
    remote.request(.get, nil, query: [("uploads", ""), ("prefix", try key)])
  }

  /// Looks at the object that is there.
  func look() throws(TransferError) -> HTTPRequest { remote.request(.head, try key) }

  private func stored(sha256: String?) throws(TransferError) -> [HTTPHeader] {
    try MetadataHeaders.make(destination.settable, .init(token: token, sha256: sha256))
  }

  private var conditions: [HTTPHeader] {
    var headers: [HTTPHeader] = []
    if let etag = destination.condition.ifMatch {
      headers.append(HTTPHeader("If-Match", etag.quoted))
    }
    if let etag = destination.condition.ifNoneMatch {
      headers.append(HTTPHeader("If-None-Match", etag))
    }
    return headers
  }
}
