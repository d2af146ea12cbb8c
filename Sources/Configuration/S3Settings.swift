package import TransferModel

/// What reaching a bucket of an S3 store needs.
package struct S3Settings: Sendable, Equatable {
  /// `https://host:port` in lower case; nil for AWS itself.
  package var endpoint: String?
  /// Where the bucket lies; nil to take it from AWS's own settings, or the provider's only one.
  package var region: String?
  /// The bucket's name.
  package var bucket: String
  /// The folder of the bucket that is the remote's root; empty for the whole bucket.
  package var prefix: ObjectReference
  /// nil to look where AWS's own tools do.
  package var credentials: Credentials?
  /// The profile of `~/.aws/credentials`; nil for `AWS_PROFILE` or `default`.
  package var profile: String?
  /// Whose server it is, which decides what can be relied upon.
  package var provider: Provider
  /// Where requests name the bucket.
  package var addressing: Addressing
  /// What the server checks received bytes against.
  package var checksum: Checksum
  /// Bytes of a part of a multipart upload; nil for 8 MiB.
  ///
  /// Larger where a file would have too many.
  package var partSize: Int64?
  /// How long a subscriber pauses between two looks for messages, in milliseconds.
  package var pollIntervalMs: Int64 = 5000
  /// How late a message may become visible and still be told, in milliseconds.
  package var settleWindowMs: Int64 = 120_000
  /// How long an upload may be interrupted before what is stored of it is removed, in milliseconds.
  package var abandonAfterMs: Int64 = 7 * 86_400_000
  /// What all remotes over HTTP can be told.
  package var http: HTTPSettings

  /// Makes settings; everything that is not given is left to ferry.
  package init(bucket: String) {
    self.bucket = bucket
    prefix = ObjectReference(path: "")
    provider = .auto
    addressing = .auto
    checksum = .auto
    http = HTTPSettings()
  }

  /// A key pair and, for temporary ones, the token that goes with it.
  package struct Credentials: Sendable, Equatable {
    /// Names the key; not secret, but nobody else's business.
    package var accessKeyID: Secret
    /// Signs.
    package var secretAccessKey: Secret
    /// Of temporary credentials.
    package var sessionToken: Secret?

    /// Makes credentials.
    package init(accessKeyID: Secret, secretAccessKey: Secret, sessionToken: Secret? = nil) {
      self.accessKeyID = accessKeyID
      self.secretAccessKey = secretAccessKey
      self.sessionToken = sessionToken
    }
  }

  /// The servers whose ways are known.
  package enum Provider: String, Sendable, CaseIterable {
    /// Told by the host and by what the server says of itself.
    case auto
    case aws, r2, ceph, minio, seaweedfs, rclone
  }

  /// Where requests name the bucket.
  package enum Addressing: String, Sendable, CaseIterable {
    /// In the host's name on AWS and R2 where the bucket's name allows it, else in the path.
    case auto
    case path, virtual
  }

  /// What the server checks received bytes against.
  package enum Checksum: String, Sendable, CaseIterable {
    /// CRC-32C where the server is known to check it, else MD5.
    case auto
    case crc32c, md5, none
  }
}

extension S3Settings {
  /// Where the objects are, for people, without secrets.
  package var place: String {
    let path = prefix.isRoot ? bucket : "\(bucket)/\(prefix.fullPath)"
    return "s3://\(path) at \(endpoint ?? "AWS")"
  }

  /// Decodes the keys of kind s3.
  init(
    remote: String,
    _ fields: inout ConfigFields,
    isMissing: () -> Bool
  ) throws(ConfigurationError) {
    let bucket = try fields.parsed("bucket", expected: Self.bucketExpected) {
      Self.isBucket($0) ? $0 : nil
    }
    guard bucket != nil || isMissing() else {
      throw fields.lacking("bucket", "remote \"\(remote)\" has no bucket; add its name")
    }
    self.init(bucket: bucket ?? "")
    endpoint = try fields.parsed("endpoint", expected: Self.endpointExpected, Self.origin)
    region = try fields.parsed("region", expected: "a name such as eu-central-1") {
      Self.isToken($0) && !$0.utf8.contains(UInt8(ascii: "/")) ? $0 : nil
    }
    prefix = ObjectReference(path: try fields.string("prefix") ?? "")
    credentials = try Self.credentials(remote: remote, &fields, isMissing: isMissing)
    profile = try fields.string("profile")
    provider = try fields.choice("provider", of: Provider.self) ?? provider
    addressing = try fields.choice("addressing", of: Addressing.self) ?? addressing
    checksum = try fields.choice("checksum", of: Checksum.self) ?? checksum
    partSize = try fields.parsed("partSize", expected: "a size from 5 MiB to 5 GiB") { text in
      Quantity.bytes(text).flatMap { (5 << 20...5 << 30).contains($0) ? $0 : nil }
    }
    pollIntervalMs =
      try fields.time("pollInterval", in: 1000...3_600_000, "a time from 1s to 1h")
      ?? pollIntervalMs
    settleWindowMs =
      try fields.time("settleWindow", in: 10_000...3_600_000, "a time from 10s to 1h")
      ?? settleWindowMs
    abandonAfterMs =
      try fields.time("abandonAfter", in: 3_600_000...31_536_000_000, "a time from 1h to 365d")
      ?? abandonAfterMs
    http = try HTTPSettings(&fields)
    switch provider {
    case .auto, .aws: break
    case .r2, .ceph, .minio, .seaweedfs, .rclone:
      guard endpoint != nil || isMissing() else {
        throw fields.lacking(
          "endpoint",
          "remote \"\(remote)\" has no endpoint, and only AWS has one that is known; add the URL "
            + "of its \(provider.rawValue) server, such as https://host:port"
        )
      }
    }
  }

  private static func credentials(
    remote: String,
    _ fields: inout ConfigFields,
    isMissing: () -> Bool
  ) throws(ConfigurationError) -> Credentials? {
    func secret(_ key: String) throws(ConfigurationError) -> Secret? {
      // The value is not quoted by the error.
      try fields.parsed(key, expected: "printable characters without spaces", isSecret: true) {
        isToken($0) ? Secret($0) : nil
      }
    }
    let id = try secret("accessKeyId")
    let key = try secret("secretAccessKey")
    let token = try secret("sessionToken")
    if let id, let key {
      return Credentials(accessKeyID: id, secretAccessKey: key, sessionToken: token)
    }
    guard id != nil || key != nil || token != nil, !isMissing() else { return nil }
    let lacking = id == nil ? "accessKeyId" : "secretAccessKey"
    throw fields.lacking(
      lacking,
      "remote \"\(remote)\" has no \(lacking); give both accessKeyId and secretAccessKey, or none "
        + "of accessKeyId, secretAccessKey and sessionToken to look where AWS's own tools do"
    )
  }

  private static let bucketExpected =
    "the bucket's name alone: 1 to 255 letters, digits, dots, hyphens and underscores"
  static let endpointExpected =
    "https://host or http://host:port, without path (bucket and prefix have keys of their own)"

  private static func isBucket(_ text: String) -> Bool {
    (1...255).contains(text.utf8.count) && text != "." && text != ".."
      && text.utf8.allSatisfy { isAlphanumeric($0) || ".-_".utf8.contains($0) }
  }

  /// What can be part of a header: printable ASCII without spaces.
  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  /// Scheme, host and port, the scheme's own port left out; nil where there is more or less.
  static func origin(_ url: String) -> String? {
    var rest = url.lowercased()[...]
    guard let scheme = ["https://", "http://"].first(where: rest.hasPrefix) else { return nil }
    rest = rest.dropFirst(scheme.count)
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    var host = rest
    var port: Int64?
    let afterBracket = rest.lastIndex(of: "]") ?? rest.startIndex
    if let colon = rest[afterBracket...].lastIndex(of: ":") {
      host = rest[..<colon]
      port = Quantity.integer(String(rest[rest.index(after: colon)...]))
      guard let port, (1...65535).contains(port) else { return nil }
    }
    guard !host.isEmpty else { return nil }
    if host.hasPrefix("[") {
      let address = host.dropFirst().dropLast()
      guard host.hasSuffix("]"), address.utf8.contains(UInt8(ascii: ":")),
        address.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." })
      else { return nil }
    } else {
      guard host.utf8.allSatisfy({ isAlphanumeric($0) || ".-_".utf8.contains($0) }) else {
        return nil
      }
    }
    if port == (scheme == "https://" ? 443 : 80) { port = nil }
    return scheme + host + (port.map { ":\($0)" } ?? "")
  }
}

extension ConfigFields {
  /// A time in milliseconds.
  fileprivate mutating func time(
    _ key: String,
    in range: ClosedRange<Int64>,
    _ expected: String
  ) throws(ConfigurationError) -> Int64? {
    try parsed(key, expected: expected) { text in
      Quantity.milliseconds(text).flatMap { range.contains($0) ? $0 : nil }
    }
  }
}
