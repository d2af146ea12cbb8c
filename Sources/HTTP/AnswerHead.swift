import TransferModel

/// Status and header fields of an answer, line by line as libcurl hands them over.
///
/// Interim answers (1xx) are forgotten when the next one begins; trailers after a chunked body are
/// nobody's.
struct AnswerHead {
  private(set) var status = 0
  private(set) var headers: [HTTPHeader] = []
  /// Whether all of the final answer's fields are there.
  private(set) var isComplete = false
  /// Bytes of all lines so far.
  private(set) var bytes = 0

  /// More than any server has reason to send.
  static let limit = 64 << 10

  /// Takes a line with its end; false where there are too many bytes.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
    guard !isComplete else { return true }
    bytes += line.count
    guard bytes <= Self.limit else { return false }
    var text = line[...]
    while let last = text.last, last == 13 || last == 10 { text = text.dropLast() }
    if text.isEmpty {
      isComplete = status >= 200
    } else if text.starts(with: "HTTP/".utf8) {
      headers.removeAll()
      status = Self.status(text)
    } else if text.first == 32 || text.first == 9 {
      // RFC 9112 5.2: a line that begins so goes on with the one before.
      if let last = headers.indices.last {
        headers[last].value += " " + Self.string(Self.trimmed(text))
      }
    } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
      let value = Self.string(Self.trimmed(text[(colon + 1)...]))
      headers.append(HTTPHeader(Self.string(text[..<colon]), value))
    }
    return true
  }

  /// The length the answer says its body has.
  var contentLength: Int64? { headers.first("Content-Length").flatMap { Int64($0) } }

  var isSuccess: Bool { (200..<300).contains(status) }

  /// The number after the first space.
  private static func status(_ line: Slice<UnsafeRawBufferPointer>) -> Int {
    line.drop { $0 != 32 }.dropFirst().prefix(3).reduce(0) { number, byte in
      (48...57).contains(byte) ? number * 10 + Int(byte) - 48 : number
    }
  }

  private static func trimmed(
    _ text: Slice<UnsafeRawBufferPointer>
  ) -> Slice<UnsafeRawBufferPointer> {
    var text = text.drop { $0 == 32 || $0 == 9 }
    while let last = text.last, last == 32 || last == 9 { text = text.dropLast() }
    return text
  }

  /// UTF-8 where it is that, else ISO 8859-1, in which every byte is a character.
  private static func string(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
