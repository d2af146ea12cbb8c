internal import Backends
internal import JSON
internal import TransferModel

/// How a download finds a file of CometChat: by its address, or in the message that shows it, which
/// is asked again when the address has expired.
struct CometChatPlace: DownloadPlace {
  private let remote: CometChatRemote
  private let place: Place
  /// The file that is meant, once one was found: of several in a message always the same.
  private var fileID: String?
  private(set) var name: String

  private enum Place {
    case address(HTTPURL)
    case message(channel: String, Timetoken)
  }

  init(_ download: DownloadFile, remote: CometChatRemote) throws(TransferError) {
    self.remote = remote
    switch download.locator {
    case .url(let text):
      let url = try remote.address(text, field: "/url")
      place = .address(url)
      let last = String(url.path.split(separator: "/").last ?? "")
      name = PercentEncoding.decode(last) ?? last
    case .message(let channel, let id):
      place = .message(channel: try Conversation(channel, field: "/messageId").channel, id)
      fileID = download.fileID
      name = ""
    case .key:
      throw TransferError(
        .unsupported,
        "CometChat knows its files by their messages: name this one by messageId, or by its url.",
        field: "/id"
      )
    }
  }

  var question: HTTPRequest? {
    if case .message(_, let id) = place { remote.messageRequest(id) } else { nil }
  }

  var address: HTTPURL? {
    if case .address(let url) = place { url } else { nil }
  }

  mutating func take(_ response: HTTPResponse) throws(TransferError) -> HTTPURL? {
    guard case .message(let channel, let id) = place else { return nil }
    let message = try remote.message(response, channel: channel, id: id)
    let found = message.attachments.first { fileID == nil || $0.file.id == fileID }
    guard let found else {
      throw TransferError(
        .notFound,
        "Message \(id) of \"\(channel)\" shows no \(fileID == nil ? "file" : "such file").",
        field: fileID == nil ? nil : "/id"
      )
    }
    fileID = found.file.id
    name = found.file.name
    return try remote.address(found.url, field: nil)
  }

  func error(_ response: HTTPResponse) -> TransferError {
    var error = remote.error(response, doing: "give the file")
    // Nothing of ours was refused: the address is all that was shown.
    if response.status == 403 {
      error.code = .presignedURLExpired
      error.message =
        "The file's address has expired or is not signed; name the file by messageId, which gives a "
        + "new one."
      error.retryableOverride = question != nil
    }
    return error
  }

  func isExpired(_ error: TransferError) -> Bool { error.code == .presignedURLExpired }

  func write(to writer: inout JSONWriter) {
    writer.field("id", fileID)
    writer.field("name", name)
  }

  func restored(from members: Members) -> CometChatPlace? {
    var copy = self
    copy.fileID = members.string("id")
    copy.name = members.string("name") ?? name
    return copy
  }
}

extension CometChatRemote {
  /// An address that somebody gave: of any host, since nothing of ours goes there, but with TLS
  /// where the remote itself is asked with it.
  func address(_ text: String, field: String?) throws(TransferError) -> HTTPURL {
    guard let url = HTTPURL(text), !isSecure || url.origin.hasPrefix("https:") else {
      throw TransferError(
        .invalidURL,
        "The file's address is no \(isSecure ? "https " : "")URL that can be fetched.",
        field: field
      )
    }
    return url
  }
}
