internal import JSON
internal import TransferModel

/// A place for one file in the storage behind PubNub, good for about a minute.
struct UploadSlot: Equatable {
  /// Given by PubNub.
  var id: String
  /// The name that is kept, which may differ from the one that was asked for.
  var name: String
  /// Where the form goes.
  var url: HTTPURL
  /// All of them, in order, the empty ones too.
  var fields: [(name: String, value: String)]

  static func == (a: UploadSlot, b: UploadSlot) -> Bool {
    a.id == b.id && a.name == b.name && a.url == b.url
      && a.fields.elementsEqual(b.fields, by: ==)
  }

  /// Reads the answer to the question for one.
  init(_ response: HTTPResponse) throws(TransferError) {
    let node = try? JSONNode(parsing: response.body)
    let members = Members(node)
    let data = Members(members["data"])
    let form = Members(members["file_upload_request"])
    guard let id = data.string("id"), let name = data.string("name"), !id.isEmpty, !name.isEmpty,
      let url = form.string("url"), let list = form["form_fields"], list.kind == .array
    else {
      throw TransferError(
        .presignedURLFailed,
        "PubNub's answer names no place for the file; try again later."
      )
    }
    guard let url = HTTPURL(url), form.string("method").map({ $0 == "POST" }) ?? true else {
      throw TransferError(.invalidURL, "PubNub's answer names a place that is no URL to post to.")
    }
    self.id = id
    self.name = name
    self.url = url
    fields = []
    list.forEachElement { element in
      let field = Members(element)
      if let key = field.string("key") { fields.append((key, field.string("value") ?? "")) }
      return fields.count < 64
    }
  }

  /// The form, as `multipart/form-data` of a length that is known.
  ///
  /// `type` is the content's; it takes the place of the one that was guessed from the name, the
  /// only field that may differ.
  func request(size: Int64, type: String) -> HTTPRequest {
    let boundary = "ferry-" + Self.token(id)
    var head = ""
    for field in fields {
      let value = field.name.lowercased() == "content-type" ? type : field.value
      head += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quoted(field.name))\""
      head += "\r\n\r\n\(value)\r\n"
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

  /// Made by PubNub after the content was, so the content cannot hold it.
  private static func token(_ id: String) -> String {
    String(
      decoding: id.utf8.prefix(48).map { byte in
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

/// A URL that somebody else made, cut into what a request needs.
struct HTTPURL: Equatable, Sendable {
  var origin: String
  var path: String
  var query: String

  /// Nil for what is no http or https URL; `relativeTo` completes a path alone.
  init?(_ text: String, relativeTo base: String? = nil) {
    let isPrintable = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    guard isPrintable, text.utf8.count <= 16 << 10 else { return nil }
    var text = text[...]
    if let base, text.hasPrefix("/"), !text.hasPrefix("//") { text = base + text }
    if let hash = text.firstIndex(of: "#") { text = text[..<hash] }
    guard let scheme = ["https://", "http://"].first(where: text.lowercased().hasPrefix) else {
      return nil
    }
    let rest = text.dropFirst(scheme.count)
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let host = rest[..<end]
    guard !host.isEmpty, !host.contains("@") else { return nil }
    origin = scheme + host.lowercased()
    let target = rest[end...]
    let mark = target.firstIndex(of: "?") ?? target.endIndex
    path = mark == target.startIndex ? "/" : String(target[..<mark])
    query = String(target[mark...].dropFirst())
  }
}
