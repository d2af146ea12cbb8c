import Backends
import Crypto
import TransferModel

/// AWS Signature Version 4 with one key on one day in one region.
struct SigV4: Sendable {
  private let accessKeyID: String
  private let scope: String
  private let key: [UInt8]

  static let unsignedPayload = "UNSIGNED-PAYLOAD"
  private static let algorithm = "AWS4-HMAC-SHA256"

  /// Derives the key; good for the whole day, which is the first eight digits of a time.
  init(
    accessKeyID: String,
    secretAccessKey: String,
    day: String,
    region: String,
    service: String = "s3"
  ) {
    self.accessKeyID = accessKeyID
    scope = "\(day)/\(region)/\(service)/aws4_request"
    key = [day, region, service, "aws4_request"]
      .reduce(Array("AWS4\(secretAccessKey)".utf8)) { key, step in
        HMAC.sha256(key: key, Array(step.utf8))
      }
  }

  /// The value of `Authorization`.
  ///
  /// - Parameters:
  ///   - request: with every header that is to be signed, `x-amz-date` among them.
  ///   - payload: lower-case hexadecimal, or ``unsignedPayload``.
  ///   - time: as in `x-amz-date`.
  /// - Returns: the algorithm, what is signed, and the signature.
  func authorization(_ request: HTTPRequest, payload: String, time: String) -> String {
    let headers = Self.signedHeaders(of: request)
    let names = headers.map(\.name).joined(separator: ";")
    let canonical = Self.canonical(request, query: request.query, headers, names, payload)
    return "\(Self.algorithm) Credential=\(accessKeyID)/\(scope), SignedHeaders=\(names), "
      + "Signature=\(signature(of: canonical, time: time))"
  }

  /// The query that makes a URL work for anybody for some seconds.
  ///
  /// What the request has as a query stays part of it. Headers other than `Host` are not signed: whoever
  /// uses the URL sends none of them.
  func presignedQuery(
    _ request: HTTPRequest,
    parameters: [(name: String, value: String)] = [],
    payload: String = unsignedPayload,
    sessionToken: String?,
    seconds: Int64,
    time: String
  ) -> String {
    var all = parameters
    all.append(("X-Amz-Algorithm", Self.algorithm))
    all.append(("X-Amz-Credential", "\(accessKeyID)/\(scope)"))
    all.append(("X-Amz-Date", time))
    all.append(("X-Amz-Expires", "\(seconds)"))
    all.append(("X-Amz-SignedHeaders", "host"))
    if let sessionToken { all.append(("X-Amz-Security-Token", sessionToken)) }
    let query = PercentEncoding.query(all)
    let host = [HTTPHeader("host", Self.host(of: request.origin))]
    let canonical = Self.canonical(request, query: query, host, "host", payload)
    return query + "&X-Amz-Signature=" + signature(of: canonical, time: time)
  }

  /// What libcurl sends as `Host`.
  static func host(of origin: String) -> String {
    guard let slash = origin.utf8.lastIndex(of: UInt8(ascii: "/")) else { return origin }
    return String(origin[origin.utf8.index(after: slash)...])
  }

  private func signature(of canonical: String, time: String) -> String {
    let text = "\(Self.algorithm)\n\(time)\n\(scope)\n\(Self.sha256(Array(canonical.utf8)))"
    return Hex.encode(HMAC.sha256(key: key, Array(text.utf8)))
  }

  /// Lower-case hexadecimal.
  static func sha256(_ bytes: [UInt8]) -> String {
    let digest = Digest(.sha256)
    digest.update(bytes)
    return digest.hex
  }

  private static func canonical(
    _ request: HTTPRequest,
    query: String,
    _ headers: [HTTPHeader],
    _ names: String,
    _ payload: String
  ) -> String {
    var text = "\(request.method.rawValue)\n\(request.path)\n\(query)\n"
    for header in headers { text += "\(header.name):\(header.value)\n" }
    return text + "\n\(names)\n\(payload)"
  }

  /// Sorted, lower-case, those of one name joined; values without outer and double spaces.
  private static func signedHeaders(of request: HTTPRequest) -> [HTTPHeader] {
    var signed = [HTTPHeader("host", host(of: request.origin))]
    for header in request.headers {
      let name = header.name.lowercased()
      guard isSigned(name) else { continue }
      let value = squeezed(header.value)
      if let index = signed.firstIndex(where: { $0.name == name }) {
        signed[index].value += "," + value
      } else {
        signed.append(HTTPHeader(name, value))
      }
    }
    return signed.sorted { $0.name < $1.name }
  }

  /// Not `If-Match` and its like, which some proxies rewrite, and nothing that is sent on the way.
  private static func isSigned(_ name: String) -> Bool {
    name.hasPrefix("x-amz-") || ["content-type", "content-md5", "range"].contains(name)
  }

  private static func squeezed(_ value: String) -> String {
    guard value.hasLooseSpaces else { return value }
    return value.utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
      .joined(separator: " ")
  }
}
