/// One HTTP/1.1 request as a remote kind describes it; it holds no descriptor and reads no clock.
///
/// What is sent is exactly `origin + path + "?" + query`: whoever makes a request encodes it once,
/// and what is signed is what goes out.
package struct HTTPRequest: Sendable, Equatable {
  /// What is asked.
  package var method: HTTPMethod
  /// Scheme, host and, where it is not the scheme's own, port: `https://host:8443`.
  package var origin: String
  /// Percent-encoded, starting with `/`; sent as it is, never normalised.
  package var path: String
  /// Percent-encoded, without `?`; empty for none.
  package var query: String
  /// In the order they are sent.
  ///
  /// `Content-Length`, `Host` and `Connection` are not among them.
  package var headers: [HTTPHeader]
  /// What is sent; nil for no body at all, which differs from an empty one.
  package var body: [HTTPBodyPiece]?
  /// A checksum over the body, added as a header just before it is signed and sent.
  package var checksum: HTTPBodyChecksum?
  /// Where the body of a successful answer goes.
  package var sink: HTTPSinkKind
  /// What it competes with.
  package var lane: HTTPLane
  /// How long the remote may think between the last byte sent and the first of its answer.
  package var answerTimeout: Duration
  /// Whether sending it twice is as good as once, so that a lost answer may be answered by asking
  /// again.
  package var isRepeatable: Bool
  /// The last moment at which it may be sent, in milliseconds since 1970 by the remote's clock; nil
  /// for any.
  ///
  /// A remote that sets it refuses to authorize the request later.
  package var latestMs: Int64?

  /// A request without body that is answered in memory.
  package init(
    _ method: HTTPMethod,
    origin: String,
    path: String,
    query: String = "",
    headers: [HTTPHeader] = [],
    body: [HTTPBodyPiece]? = nil,
    sink: HTTPSinkKind = .memory(limit: HTTPRequest.answerLimit),
    lane: HTTPLane = .call,
    answerTimeout: Duration = .seconds(60),
    isRepeatable: Bool = true
  ) {
    self.method = method
    self.origin = origin
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
    self.sink = sink
    self.lane = lane
    self.answerTimeout = answerTimeout
    self.isRepeatable = isRepeatable
  }

  /// The most bytes of an answer that are kept in memory unless a request says otherwise; a page of
  /// 1,000 names of 1,024 bytes, each byte percent-encoded, fits.
  package static let answerLimit = 8 << 20

  /// The whole URL, which may carry a signature: never to be logged.
  package var url: String { query.isEmpty ? origin + path : origin + path + "?" + query }

  /// The bytes of the body; 0 where there is none.
  package var bodyLength: Int64 { (body ?? []).reduce(0) { $0 + $1.length } }

  /// The value of a header by its name in any case; the first where there are several.
  package func header(_ name: String) -> String? { headers.first(name) }
}

/// The methods that remotes are asked with.
package enum HTTPMethod: String, Sendable {
  case get = "GET"
  case head = "HEAD"
  case put = "PUT"
  case post = "POST"
  case patch = "PATCH"
  case delete = "DELETE"
}

/// One header field.
package struct HTTPHeader: Sendable, Equatable {
  /// As it is sent; compared without case.
  package var name: String
  /// One line without CR, LF or NUL.
  package var value: String

  /// Makes a field.
  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

extension [HTTPHeader] {
  /// The value of the first field of a name in any case.
  package func first(_ name: String) -> String? {
    let wanted = name.lowercased()
    return first { $0.name.lowercased() == wanted }?.value
  }
}

/// A piece of a body, read again from its start when a request is sent again.
package enum HTTPBodyPiece: Sendable, Equatable {
  case bytes([UInt8])
  /// A range of the transfer's source.
  case source(Range<Int64>)

  /// Bytes.
  package var length: Int64 {
    switch self {
    case .bytes(let bytes): Int64(bytes.count)
    case .source(let range): Int64(range.count)
    }
  }
}

/// A checksum that travels as a header, computed before the first byte is sent.
package enum HTTPBodyChecksum: Sendable, Equatable {
  /// `Content-MD5` of RFC 1864: base64 of the 16 bytes.
  case contentMD5
  /// Base64 of the CRC-32C, big-endian, under a header of this name.
  case crc32c(header: String)
}

/// Where the body of a successful (2xx) answer goes; other answers always go to memory.
package enum HTTPSinkKind: Sendable, Equatable {
  /// Into the response, up to a number of bytes; more is a failure.
  case memory(limit: Int)
  /// Into the response, the first bytes up to a number; what is more is not fetched, and the
  /// response says that it was cut.
  ///
  /// For asking for the beginning of something whose owner may send all of it.
  case beginning(limit: Int)
  /// Into the transfer's target, from this offset of the target on; at most `length` bytes.
  case target(offset: Int64, length: Int64)
}

/// What a request competes with for connections.
package enum HTTPLane: Sendable, Equatable {
  /// Contents.
  case bulk
  /// Short questions, which never wait for contents.
  case call
  /// Long polls, which hold a connection and count against nothing.
  case poll
}
