import Backends
import Configuration
import TransferModel

/// The requests that a bucket is asked with.
extension S3Remote {
  /// A request for a key, or for the bucket where there is none.
  func request(
    _ method: HTTPMethod,
    _ key: String?,
    query: [(name: String, value: String)] = [],
    headers: [HTTPHeader] = [],
    body: [HTTPBodyPiece]? = nil
  ) -> HTTPRequest {
    let endpoint = endpoint
    return HTTPRequest(
      method,
      origin: endpoint.origin,
      path: key.map { endpoint.path(of: $0) } ?? endpoint.bucketPath,
      query: PercentEncoding.query(query),
      headers: headers,
      body: body
    )
  }

  /// Asks for nothing but what kind of server it is; a refusal tells as well.
  var probe: HTTPRequest { request(.head, nil) }

  /// The key of a reference.
  /// - Throws: `ERR_INVALID_REFERENCE` for what the bucket cannot hold under a name of its own.
  func key(_ path: String) throws(TransferError) -> String {
    let key = settings.prefix.isRoot ? path : settings.prefix.fullPath + "/" + path
    try KeyRules.check(key, for: provider)
    return key
  }

  /// The path below the remote's root of a key; nil for one that no reference stands for.
  func path(ofKey key: String) -> String? {
    guard KeyRules.isReference(key) else { return nil }
    if settings.prefix.isRoot { return key }
    let root = settings.prefix.fullPath + "/"
    // By bytes: a name may begin with a mark that Swift takes for a part of the slash before it.
    guard key.utf8.count > root.utf8.count, key.utf8.starts(with: root.utf8) else { return nil }
    return String(key.utf8.dropFirst(root.utf8.count))
  }

  /// A call about a key, once it is sure that the key is a name of its own there.
  func call<Value>(
    about path: String,
    _ body: @escaping @Sendable (_ key: String) throws(TransferError) -> RemoteCall<Value>
  ) throws(TransferError) -> RemoteCall<Value> {
    let key = try key(path)
    guard provider == nil, KeyRules.isDelicate(key) else { return try body(key) }
    return .ask(probe) { response throws(TransferError) in
      self.learnProvider(from: response)
      return try body(self.key(path))
    }
  }

  /// What the server is told to check a body against.
  var checksum: HTTPBodyChecksum? {
    switch settings.checksum {
    case .none: nil
    case .md5: .contentMD5
    case .crc32c: .crc32c(header: Self.crc32cHeader)
    case .auto:
      provider?.checksCRC32C == true ? .crc32c(header: Self.crc32cHeader) : .contentMD5
    }
  }

  static let crc32cHeader = "x-amz-checksum-crc32c"

  /// What an answer's headers say of an object.
  /// - Throws: `ERR_SERVER` for an answer without size or time.
  func metadata(
    of path: String,
    _ response: HTTPResponse,
    size: Int64? = nil
  ) throws(TransferError) -> ObjectMetadata {
    guard let size = size ?? response.header("content-length").flatMap({ Int64($0) }), size >= 0
    else {
      throw TransferError(
        .server,
        "\(place) does not say how large \(path) is; check that it is an S3 server."
      )
    }
    let (settable, marks) = MetadataHeaders.read(response.headers)
    let modified =
      ["last-modified", "date"].lazy
      .compactMap { response.header($0).flatMap { ServerTime.parse(http: $0) } }.first ?? 0
    var metadata = ObjectMetadata(
      fullPath: path,
      size: size,
      settable: settable,
      createdMs: modified,
      updatedMs: modified,
      etag: (response.header("etag") ?? "").unquoted
    )
    metadata.sha256 = marks.sha256.flatMap { Self.isHex($0, digits: 64) ? $0 : nil }
    metadata.md5 = md5(of: metadata.etag, response)
    metadata.bucket = settings.bucket
    return metadata
  }

  /// The MD5 that an ETag is, where it is one.
  func md5(of etag: String, _ response: HTTPResponse) -> String? {
    let encryption = response.header("x-amz-server-side-encryption") ?? "AES256"
    guard provider?.hasMD5ETags == true, encryption == "AES256", Self.isHex(etag, digits: 32),
      response.header("x-amz-server-side-encryption-customer-algorithm") == nil
    else { return nil }
    return etag.lowercased()
  }

  private static func isHex(_ text: String, digits: Int) -> Bool {
    text.utf8.count == digits && text.utf8.allSatisfy { PercentEncoding.digit($0) != nil }
  }
}
