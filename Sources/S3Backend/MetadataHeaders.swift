import Backends
import JSON
import TransferModel

/// An object's metadata as headers, both ways.
///
/// Custom keys become `x-amz-meta-<key>` in lower case, as S3 keeps them. Where that does not
/// spell the key, because it has upper-case letters or what a header's name cannot have, the true
/// spellings are in `x-amz-meta-ferry-names` (`authorname=authorName`). Values that are not plain ASCII are encoded
/// words of RFC 2047, which is how S3 itself returns them and AWS's console shows them.
enum MetadataHeaders {
  /// The most bytes of custom keys and values that S3 takes, ferry's own among them.
  static let limit = 2048

  private static let prefix = "x-amz-meta-"
  private static let names = "ferry-names"
  private static let token = "ferry-token"
  private static let sha256 = "ferry-sha256"
  private static let own = [names, token, sha256]

  /// Keys and values of ferry's own.
  struct Marks: Sendable, Equatable {
    /// Tells this upload's object from every other.
    var token: String?
    /// Lower-case hexadecimal, of the content.
    var sha256: String?
  }

  /// The headers that store metadata.
  /// - Throws: `ERR_INVALID_ARGUMENT` for what S3 cannot keep.
  static func make(
    _ settable: SettableMetadata,
    _ marks: Marks
  ) throws(TransferError) -> [HTTPHeader] {
    var headers: [HTTPHeader] = []
    let system: [(String, String, String?)] = [
      ("Content-Type", "contentType", settable.contentType),
      ("Cache-Control", "cacheControl", settable.cacheControl),
      ("Content-Disposition", "contentDisposition", settable.contentDisposition),
      ("Content-Encoding", "contentEncoding", settable.contentEncoding),
      ("Content-Language", "contentLanguage", settable.contentLanguage),
    ]
    for (name, key, value) in system {
      guard let value, !value.isEmpty else { continue }
      guard value.utf8.allSatisfy({ $0 >= 32 && $0 < 127 }), value.utf8.first != 32,
        value.utf8.last != 32
      else {
        throw refused(
          "\(key) can only be printable ASCII on this remote; a disposition names other files as "
            + "filename*=UTF-8''…",
          key
        )
      }
      headers.append(HTTPHeader(name, value))
    }
    var custom = try customHeaders(settable.custom)
    if let token = marks.token { custom.append(HTTPHeader(Self.token, token)) }
    if let sha256 = marks.sha256 { custom.append(HTTPHeader(Self.sha256, sha256)) }
    let size = custom.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    guard size <= limit else {
      throw refused(
        "custom has \(size) bytes as headers, ferry's own included, and S3 takes \(limit): leave "
          + "some out.",
        "custom"
      )
    }
    return headers + custom.map { HTTPHeader(prefix + $0.name, $0.value) }
  }

  /// What was stored, and ferry's own marks.
  static func read(_ headers: [HTTPHeader]) -> (SettableMetadata, Marks) {
    var settable = SettableMetadata(
      contentType: headers.first("content-type") ?? ContentType.unknown
    )
    settable.cacheControl = headers.first("cache-control")
    settable.contentDisposition = headers.first("content-disposition")
    settable.contentEncoding = encoding(headers.first("content-encoding"))
    settable.contentLanguage = headers.first("content-language")
    var values: [String: String] = [:]
    for header in headers {
      let name = header.name.lowercased()
      if name.hasPrefix(prefix) { values[String(name.dropFirst(prefix.count))] = header.value }
    }
    let marks = Marks(token: values[token], sha256: values[sha256])
    var spellings: [String: String] = [:]
    for pair in (values[names] ?? "").split(separator: ",") {
      let parts = pair.split(separator: "=")
      guard parts.count == 2, let key = PercentEncoding.decode(String(parts[1])) else { continue }
      spellings[String(parts[0])] = key
    }
    for (name, value) in values where !own.contains(name) {
      settable.custom[spellings[name] ?? name] = EncodedWord.decode(value)
    }
    return (settable, marks)
  }

  private static func customHeaders(
    _ custom: [ExactString: String]
  ) throws(TransferError) -> [HTTPHeader] {
    var headers: [HTTPHeader] = []
    var spellings: [String] = []
    // Keys that are spelled as headers come first, so that no other takes their name.
    var taken = Set(custom.keys.map(\.text).filter { folded($0).utf8.elementsEqual($0.utf8) })
    for (key, value) in custom.sorted(by: { $0.key < $1.key }).map({ ($0.key.text, $0.value) }) {
      var name = folded(key)
      guard !key.isEmpty, !name.hasPrefix("ferry-") else {
        throw refused("custom cannot have the key \"\(key)\": name it otherwise.", "custom")
      }
      if !name.utf8.elementsEqual(key.utf8) {
        name = unique(name, among: taken)
        taken.insert(name)
        spellings.append("\(name)=\(PercentEncoding.component(key))")
      }
      headers.append(HTTPHeader(name, EncodedWord.encode(value)))
    }
    guard !spellings.isEmpty else { return headers }
    return headers + [HTTPHeader(names, spellings.joined(separator: ","))]
  }

  /// A key as the name of a header: lower case, with `-` for what it cannot have.
  private static func folded(_ key: String) -> String {
    String(
      decoding: key.utf8.map { byte -> UInt8 in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
          byte
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        default: UInt8(ascii: "-")
        }
      },
      as: UTF8.self
    )
  }

  private static func unique(_ name: String, among taken: Set<String>) -> String {
    guard taken.contains(name) else { return name }
    var number = 2
    while taken.contains("\(name)-\(number)") { number += 1 }
    return "\(name)-\(number)"
  }

  /// SeaweedFS keeps how other clients framed a body as if it were a coding of the content.
  private static func encoding(_ value: String?) -> String? {
    guard let value, value.contains("aws-chunked") else { return value }
    let codings = value.split(separator: ",").map { $0.filter { $0 != " " } }
      .filter { $0 != "aws-chunked" }
    return codings.isEmpty ? nil : codings.joined(separator: ",")
  }

  private static func refused(_ message: String, _ key: String) -> TransferError {
    TransferError(.invalidArgument, message, field: "/metadata/\(key)")
  }
}
