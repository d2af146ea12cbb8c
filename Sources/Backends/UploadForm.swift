package import TransferModel

/// A form of presigned storage (S3's POST policy): its fields, then the file, as
/// `multipart/form-data` of a length that is known.
package struct UploadForm: Sendable {
  private let url: HTTPURL
  private let fields: [(name: String, value: String)]

  /// All fields are sent, in order, the empty ones too.
  package init(url: HTTPURL, fields: [(name: String, value: String)]) {
    self.url = url
    self.fields = fields
  }

  /// The request with the transfer's source as its file.
  ///
  /// `id` was made by the remote after the content was, so the content cannot hold the boundary that
  /// is made of it.
  package func request(name: String, type: String, size: Int64, id: String) -> HTTPRequest {
    let boundary = "ferry-" + Self.token(id)
    var head = ""
    for field in fields {
      head += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quoted(field.name))\""
      head += "\r\n\r\n\(field.value)\r\n"
    }
    head += "--\(boundary)\r\nContent-Disposition: form-data; name=\"file\"; "
    head += "filename=\"\(Self.quoted(name))\"\r\nContent-Type: \(type)\r\n\r\n"
    return HTTPRequest(
      .post,
      origin: url.origin,
      path: url.path,
      query: url.query,
      headers: [HTTPHeader("Content-Type", "multipart/form-data; boundary=\(boundary)")],
      body: [
        .bytes(Array(head.utf8)), .source(0..<size),
        .bytes(Array("\r\n--\(boundary)--\r\n".utf8)),
      ],
      lane: .bulk,
      isRepeatable: false
    )
  }

  /// As browsers write names in forms.
  private static func quoted(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { output, scalar in
      switch scalar {
      case "\"": output += "%22"
      case "\r": output += "%0D"
      case "\n": output += "%0A"
      default: output.unicodeScalars.append(scalar)
      }
    }
  }

  private static func token(_ id: String) -> String {
    String(
      decoding: id.utf8.suffix(48).map { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          byte
        default: UInt8(ascii: "-")
        }
      },
      as: UTF8.self
    )
  }
}
