internal import Backends
internal import Crypto
internal import JSON
internal import TransferModel

/// A place for one file in the storage behind CometChat, and the attachment it will be.
struct UploadSlot {
  /// Where the form goes.
  var url: HTTPURL
  /// What authorizes it; sent before the file, in the answer's order.
  var fields: [(name: String, value: String)]
  /// What messages show, once the file is there.
  var attachment: Attachment
  /// When the storage stops taking the form, in milliseconds since 1970 by the storage's clock.
  var deadlineMs: Int64
  /// The bytes the storage takes; nil where its policy does not say.
  var sizes: ClosedRange<Int64>?

  /// A place is good for so long where its policy does not say.
  static let lifetimeMs: Int64 = 15 * 60_000

  /// The form with the source as its file.
  func request(size: Int64, type: String) -> HTTPRequest {
    UploadForm(url: url, fields: fields)
      .request(name: attachment.file.name, type: type, size: size, id: attachment.file.id)
  }

  /// Reads the answer to the question for one file, which is below `data` or bare.
  ///
  /// - Throws: `ERR_PRESIGNED_URL_FAILED`, with the service's own code and for good where it refused
  ///   the file; `ERR_INVALID_URL`.
  init(
    _ node: JSONNode,
    fileID: String,
    send: SendFile,
    size: Int64,
    nowMs: Int64,
    secrets: [Secret]
  ) throws(TransferError) {
    let top = Members(node)
    let entry = Members(Members(top["data"])[fileID] ?? top[fileID])
    let request = Members(entry["request"])
    let attachment = Members(entry["attachment"])
    if entry["request"] == nil, entry["attachment"] == nil, entry["code"] ?? entry["message"] != nil
    {
      throw Fault(code: entry.string("code"), message: entry.string("message"))
        .error(nil, doing: "take \"\(send.name)\"", secrets: secrets).refusedSlot
    }
    guard let form = request.string("url"), let shown = attachment.string("url") else {
      throw TransferError(
        .presignedURLFailed,
        "CometChat's answer names no place for \"\(send.name)\"; try again later."
      )
    }
    guard let url = HTTPURL(form), let shownURL = HTTPURL(shown) else {
      throw TransferError(
        .invalidURL,
        "CometChat's answer names a place for \"\(send.name)\" that is no URL; try again."
      )
    }
    self.url = url
    var fields: [(name: String, value: String)] = []
    request["body"]?.forEachMember { key, value in
      // What is no text goes as it is written.
      let text = (try? value.string()) ?? String(decoding: value.bytes, as: UTF8.self)
      if let name = try? key.string() { fields.append((name, text)) }
      return fields.count < 64
    }
    self.fields = fields
    self.attachment = Attachment(
      SharedFile(
        id: Self.id(of: shownURL),
        name: attachment.string("name") ?? send.name,
        size: size,
        contentType: attachment.string("mimeType") ?? send.contentType
      ),
      url: shown
    )
    deadlineMs = nowMs + Self.lifetimeMs
    let text = fields.first { $0.name.lowercased() == "policy" }?.value
    if let policy = text.flatMap(Base64.decode), let node = try? JSONNode(parsing: policy) {
      read(policy: Members(node))
    }
  }

  /// What a file is called here: the path of its address, which stays when that is signed anew.
  static func id(of url: HTTPURL) -> String { String(url.path.drop { $0 == "/" }) }

  /// `{"expiration":"2026-…Z","conditions":[["content-length-range",1,1000],…]}`.
  private mutating func read(policy: Members) {
    if let end = policy.string("expiration").flatMap(HTTPDate.iso8601Milliseconds) {
      deadlineMs = end
    }
    policy["conditions"]?.forEachElement { condition in
      guard let parts = try? condition.elements(), parts.count == 3,
        parts[0].isString("content-length-range"), let least = try? parts[1].int(),
        let most = try? parts[2].int(), least <= most
      else { return true }
      sizes = least...most
      return false
    }
  }
}

extension TransferError {
  /// The refusal of a place: the request itself must change, unless it is about who asks or how
  /// often.
  var refusedSlot: TransferError {
    withoutSlot(
      isFinal: true,
      keeping: [.unauthenticated, .config, .rateLimited, .quotaExceeded, .unsupported]
    )
  }
}
