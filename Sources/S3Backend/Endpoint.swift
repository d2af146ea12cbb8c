import Backends
import Configuration
import TransferModel

/// Where a bucket is asked.
struct Endpoint: Sendable, Equatable {
  /// Scheme, host and port.
  var origin: String
  /// `/bucket`, or nothing where the host names it.
  var path: String
  /// What requests are signed for.
  var region: String

  /// Decides by the configuration; the region is the one to sign for until a server says otherwise.
  init(_ settings: S3Settings, region: String?, provider: Provider?) {
    let host = settings.endpoint.map { SigV4.host(of: $0) }
    let region =
      region ?? host.flatMap { Self.region(ofHost: $0) } ?? (provider == .r2 ? "auto" : "us-east-1")
    self.region = region
    let origin = settings.endpoint ?? Self.awsOrigin(region: region)
    let isVirtual =
      switch settings.addressing {
      case .path: false
      case .virtual: true
      case .auto:
        (provider == .aws || provider == .r2) && Self.fitsHost(settings.bucket, of: origin)
      }
    if isVirtual, let slash = origin.utf8.lastIndex(of: UInt8(ascii: "/")) {
      let start = origin.utf8.index(after: slash)
      self.origin = origin[..<start] + settings.bucket + "." + origin[start...]
      path = ""
    } else {
      self.origin = origin
      path = "/" + PercentEncoding.path(settings.bucket)
    }
  }

  /// The path of a key; nothing is normalised.
  func path(of key: String) -> String { path + "/" + PercentEncoding.path(key) }

  /// The path of the bucket itself.
  var bucketPath: String { path.isEmpty ? "/" : path }

  /// Signs for another region from now on, and on AWS asks there.
  mutating func move(toRegion region: String) {
    let old = Self.awsOrigin(region: self.region)
    self.region = region
    for known in [old, "https://s3.amazonaws.com"] {
      // The bucket's name, or nothing, stands before the host.
      let host = SigV4.host(of: known)
      guard origin.hasPrefix("https://"), origin.hasSuffix(host) else { continue }
      origin =
        String(origin.dropLast(host.utf8.count))
        + SigV4.host(of: Self.awsOrigin(region: region))
      return
    }
  }

  /// Asks another of AWS's hosts from now on; other hosts are never followed.
  mutating func move(toHost host: String) {
    let host = host.lowercased()
    let bucket = SigV4.host(of: origin).split(separator: ".").first.map { "\($0)." } ?? ""
    guard Provider.isAWS(host), Provider.isAWS(SigV4.host(of: origin)),
      !path.isEmpty || host.hasPrefix(bucket)
    else { return }
    origin = "https://" + host
  }

  /// AWS's own host of a region.
  static func awsOrigin(region: String) -> String {
    let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
    return "https://s3.\(region).\(domain)"
  }

  /// The region that one of AWS's hosts names.
  static func region(ofHost host: String) -> String? {
    guard Provider.isAWS(host) else { return nil }
    let labels = host.split(separator: ".")
    guard let s3 = labels.lastIndex(where: { $0 == "s3" || $0 == "dualstack" }) else { return nil }
    let next = labels[s3 + 1]
    return next == "amazonaws" ? nil : String(next)
  }

  /// Whether a bucket's name can be a label of a host, under a certificate for one label.
  private static func fitsHost(_ bucket: String, of origin: String) -> Bool {
    (3...63).contains(bucket.utf8.count)
      && bucket.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"):
          true
        case UInt8(ascii: "."): !origin.hasPrefix("https:")
        default: false
        }
      } && !bucket.hasPrefix("-") && !bucket.hasSuffix("-") && !bucket.contains("..")
  }
}
