import Configuration
import TransferModel

/// A kind of server, and what can be relied upon there.
enum Provider: Sendable, Equatable {
  case aws, r2, ceph, minio, seaweedfs, rclone
  /// A server nobody here knows: only what all servers do is relied upon.
  case other

  /// As configured; nil to be told by host and answers.
  init?(_ configured: S3Settings.Provider) {
    switch configured {
    case .auto: return nil
    case .aws: self = .aws
    case .r2: self = .r2
    case .ceph: self = .ceph
    case .minio: self = .minio
    case .seaweedfs: self = .seaweedfs
    case .rclone: self = .rclone
    }
  }

  /// Told by the host alone; nil where it could be any server.
  init?(host: String) {
    if Self.isAWS(host) {
      self = .aws
    } else if host.hasSuffix(".r2.cloudflarestorage.com") {
      self = .r2
    } else {
      return nil
    }
  }

  /// Told by what a server on a host that could be anybody's says of itself.
  init(answer: HTTPResponse) {
    let server = answer.header("server")?.lowercased() ?? ""
    if server.hasPrefix("minio") {
      self = .minio
    } else if server.hasPrefix("seaweedfs") {
      self = .seaweedfs
    } else if server.hasPrefix("ceph") || answer.header("x-rgw-request-id") != nil {
      self = .ceph
    } else if server.hasPrefix("rclone") || Self.isFakeS3(answer) {
      self = .rclone
    } else {
      self = .other
    }
  }

  /// Whether a host is one of AWS's own.
  static func isAWS(_ host: String) -> Bool {
    host == "s3.amazonaws.com" || host.hasSuffix(".amazonaws.com")
      || host.hasSuffix(".amazonaws.com.cn")
  }

  /// The library behind `rclone serve s3` calls itself AmazonS3; its list of headers is its own.
  private static func isFakeS3(_ answer: HTTPResponse) -> Bool {
    answer.header("server") == "AmazonS3"
      && answer.header("access-control-allow-headers")?.contains("x-amz-meta-filename") == true
  }

  /// Whether a wrong `x-amz-checksum-crc32c` is refused, and not taken for just another header.
  var checksCRC32C: Bool {
    switch self {
    case .aws, .minio, .seaweedfs: true
    case .r2, .ceph, .rclone, .other: false
    }
  }

  /// Whether `If-Match` and `If-None-Match` of a PUT are obeyed.
  var obeysConditions: Bool {
    switch self {
    case .aws, .r2, .minio, .seaweedfs: true
    case .ceph, .rclone, .other: false
    }
  }

  /// Whether they are obeyed when a multipart upload is completed.
  var obeysConditionsOfParts: Bool {
    switch self {
    case .aws, .minio, .seaweedfs: true
    case .r2, .ceph, .rclone, .other: false
    }
  }

  /// Whether the ETag of an object that was put in one piece, and is not encrypted with a key of a
  /// key service, is its MD5.
  var hasMD5ETags: Bool {
    switch self {
    case .aws, .r2, .minio, .seaweedfs, .rclone: true
    case .ceph, .other: false
    }
  }

  /// Parts that are sent at the same time; 1 where they must come in order.
  var partWidth: Int {
    switch self {
    case .aws, .r2, .ceph, .minio, .seaweedfs, .other: 4
    case .rclone: 1
    }
  }

  /// Whether `\` in a name is just another character.
  var keepsBackslashes: Bool {
    switch self {
    case .aws, .r2, .ceph, .rclone: true
    case .minio, .seaweedfs, .other: false
    }
  }

  /// Whether `.` and `..` between slashes are names.
  var keepsDots: Bool {
    switch self {
    case .aws, .r2, .ceph: true
    case .minio, .seaweedfs, .rclone, .other: false
    }
  }

  /// The most bytes between two slashes, where there is a bound.
  var longestComponent: Int? {
    switch self {
    case .minio, .seaweedfs, .rclone: 255
    case .aws, .r2, .ceph, .other: nil
    }
  }

  /// What people call it.
  var title: String {
    switch self {
    case .aws: "AWS"
    case .r2: "R2"
    case .ceph: "Ceph"
    case .minio: "MinIO"
    case .seaweedfs: "SeaweedFS"
    case .rclone: "rclone"
    case .other: "this server"
    }
  }
}
