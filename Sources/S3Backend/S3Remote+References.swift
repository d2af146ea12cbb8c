import Backends
import Configuration
package import TransferModel

/// What hosts call objects.
extension S3Remote {
  /// - Throws: `ERR_INVALID_REFERENCE` for another bucket, another server or what is no plain URL
  ///   of an object.
  package func reference(_ url: String) throws(TransferError) -> ObjectReference {
    let key: String
    if let rest = Self.rest(of: url, after: "s3://") {
      key = try self.key(in: rest)
    } else if Self.rest(of: url, after: "https://") != nil
      || Self.rest(of: url, after: "http://") != nil
    {
      key = try self.key(ofWeb: url)
    } else {
      throw refused("\(place) knows objects by path, s3:// and https:// only.")
    }
    guard let path = key == settings.prefix.fullPath || key.isEmpty ? "" : path(ofKey: key) else {
      throw refused(
        "The URL is of no object below \(place): its key lies elsewhere, or has slashes at "
          + "an end or side by side, which references do not."
      )
    }
    return ObjectReference(path: path)
  }

  /// The key of `bucket/key`.
  private func key(in text: Substring) throws(TransferError) -> String {
    let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
    guard text[..<slash] == settings.bucket else {
      throw refused("The URL is of another bucket than \(settings.bucket).")
    }
    return String(Substring(text.utf8[slash...].dropFirst()))
  }

  /// The key of a URL with the bucket in its host or its path; a signature is no part of a name.
  private func key(ofWeb url: String) throws(TransferError) -> String {
    guard !url.contains("#") else { throw refused("A reference has no fragment (#).") }
    let halves = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    if halves.count == 2 {
      let isSignature = halves[1].split(separator: "&").allSatisfy { $0.hasPrefix("X-Amz-") }
      guard isSignature else {
        throw refused("A reference has no query, unless it is a signature.")
      }
    }
    let whole = halves[0]
    guard let start = whole.utf8.firstIndex(of: UInt8(ascii: ":")) else { throw refused(Self.odd) }
    let afterScheme = whole[start...].dropFirst(3)
    let hostEnd = afterScheme.firstIndex(of: "/") ?? afterScheme.endIndex
    let origin = whole[..<hostEnd].lowercased()
    guard let path = PercentEncoding.decode(String(afterScheme[hostEnd...].dropFirst())) else {
      throw refused(Self.odd)
    }
    let (pathOrigin, hostOrigin) = origins
    if origin == hostOrigin { return path }
    guard origin == pathOrigin else {
      throw refused("The URL is of another server than that of \(place).")
    }
    return try key(in: path[...])
  }

  /// The origins of the two ways to name the bucket: in the path, in the host.
  private var origins: (String, String) {
    let endpoint = endpoint
    let label = settings.bucket.lowercased() + "."
    let host = SigV4.host(of: endpoint.origin)
    let scheme = String(endpoint.origin.dropLast(host.utf8.count))
    if endpoint.path.isEmpty {
      return (scheme + host.dropFirst(label.count), endpoint.origin)
    }
    return (endpoint.origin, scheme + label + host)
  }

  private static let odd = "The URL cannot be read; percent-encode what is not plain in it."

  private static func rest(of url: String, after scheme: String) -> Substring? {
    url.prefix(scheme.count).lowercased() == scheme ? url.dropFirst(scheme.count) : nil
  }

  private func refused(_ message: String) -> TransferError {
    TransferError(.invalidReference, message, field: "/ref")
  }
}
