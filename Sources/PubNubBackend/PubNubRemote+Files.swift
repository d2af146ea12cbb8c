package import Backends
internal import Configuration
internal import Crypto
internal import JSON
package import TransferModel

/// Files of channels: where they are, what there is, and the announcing of them.
extension PubNubRemote {
  /// Where a file of a channel is.
  enum Place: Equatable {
    case file(channel: String, id: String, name: String)
    /// In the message that announced it.
    case message(channel: String, Timetoken)
  }

  /// Where a locator leads.
  func place(of locator: FileLocator) throws(TransferError) -> Place {
    switch locator {
    case .key(let channel, let id, let name):
      try check(channel: channel, id: id, name: name)
      return .file(channel: channel, id: id, name: name)
    case .message(let channel, let timetoken):
      try Rules.check(channel: channel, field: "/messageId")
      return .message(channel: channel, timetoken)
    case .url(let url):
      return try place(ofURL: url)
    }
  }

  /// A URL as `fileURL` makes it; its own token or signature, which may be old, is not used.
  private func place(ofURL text: String) throws(TransferError) -> Place {
    let start = "/v1/files/\(settings.subscribeKey)/channels/"
    if let url = HTTPURL(text), url.origin == settings.origin, url.path.hasPrefix(start) {
      let rest = url.path.dropFirst(start.count)
      let parts = rest.split(separator: "/", omittingEmptySubsequences: false).map {
        PercentEncoding.decode(String($0))
      }
      if parts.count == 4, parts[1] == "files", let channel = parts[0], let id = parts[2],
        let name = parts[3], (try? check(channel: channel, id: id, name: name)) != nil
      {
        return .file(channel: channel, id: id, name: name)
      }
    }
    throw TransferError(
      .invalidArgument,
      "This is no URL of a file of this remote's keyset; name the file by channel, id and name.",
      field: "/url"
    )
  }

  private func check(channel: String, id: String, name: String) throws(TransferError) {
    try Rules.check(channel: channel)
    try Rules.check(id: id)
    try Rules.check(name: name)
  }

  /// Looks at an announcement before anything is sent; the file's id is not known yet.
  func check(_ announcement: Announcement, name: String) throws(TransferError) {
    try Rules.check(channel: announcement.channel)
    try Rules.check(name: name)
    var tried = announcement
    tried.fileID = "00000000-0000-4000-8000-000000000000"
    tried.fileName = name
    let request = try publishRequest(tried)
    let size = try sentBytes(request)
    guard size <= Rules.urlBytes else {
      throw TransferError(
        .invalidArgument,
        "message and meta make an announcement of \(size) bytes after escaping; PubNub takes "
          + "\(Rules.urlBytes). Send less beside the file.",
        field: "/message"
      )
    }
  }

  private func filesPath(_ channel: String) -> String {
    "/v1/files/\(settings.subscribeKey)/channels/\(PercentEncoding.component(channel))"
  }

  private func filePath(channel: String, id: String, name: String) -> String {
    "\(filesPath(channel))/files/\(PercentEncoding.component(id))/\(PercentEncoding.component(name))"
  }

  /// Asks for a place to upload to.
  func slotRequest(channel: String, name: String) -> HTTPRequest {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("name", name)
    writer.endObject()
    return HTTPRequest(
      .post,
      origin: settings.origin,
      path: filesPath(channel) + "/generate-upload-url",
      headers: [HTTPHeader("Content-Type", "application/json")],
      body: [.bytes(writer.take())]
    )
  }

  /// Asks where the content of a file is.
  func contentRequest(channel: String, id: String, name: String) -> HTTPRequest {
    HTTPRequest(
      .get,
      origin: settings.origin,
      path: filePath(channel: channel, id: id, name: name)
    )
  }

  /// Tells a channel's subscribers of a file; sent twice it is told twice.
  func publishRequest(_ announcement: Announcement) throws(TransferError) -> HTTPRequest {
    guard let publishKey = settings.publishKey else {
      throw TransferError(
        .config,
        "This remote has no publishKey, so it can announce nothing; add it to its configuration.",
        field: "/remote"
      )
    }
    try Rules.check(customMessageType: announcement.customMessageType)
    let payload = try Payload(cipher: cipher(announcement.cipherKey)).encode(announcement)
    var query = Query()
    query.add("meta", announcement.meta.map { String(decoding: $0.bytes, as: UTF8.self) })
    query.add("store", announcement.store ? "1" : "0")
    if announcement.ttlHours > 0 { query.add("ttl", String(announcement.ttlHours)) }
    if !announcement.replicate { query.add("norep", "true") }
    query.add("custom_message_type", announcement.customMessageType)
    try query.add(announcement.query)
    let message = PercentEncoding.component(String(decoding: payload, as: UTF8.self))
    return HTTPRequest(
      .get,
      origin: settings.origin,
      path: "/v1/files/publish-file/\(publishKey)/\(settings.subscribeKey)/0/"
        + "\(PercentEncoding.component(announcement.channel))/0/\(message)",
      query: query.encoded,
      isRepeatable: false
    )
  }

  /// The timetoken in the answer to an announcement: `[1,"Sent","17…"]`.
  func timetoken(_ response: HTTPResponse) throws(TransferError) -> Timetoken {
    let node = try json(response, doing: "announce the file")
    guard let elements = try? node.elements(), elements.count >= 3,
      (try? elements[0].int()) == 1, let text = try? elements[2].string(),
      let timetoken = Timetoken(text)
    else { throw error(response, doing: "announce the file") }
    return timetoken
  }

  package func announce(
    _ announcement: Announcement,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<Timetoken> {
    try check(
      channel: announcement.channel,
      id: announcement.fileID,
      name: announcement.fileName
    )
    try check(announcement, name: announcement.fileName)
    return .ask(try publishRequest(announcement)) { [self] response throws(TransferError) in
      .done(try timetoken(response))
    }
  }

  package func channel(_ name: String) throws(TransferError) -> String {
    try Rules.check(channel: name)
    return name
  }

  package func listFiles(
    channel: String,
    limit: Int,
    next: String?
  ) throws(TransferError) -> RemoteCall<FilePage> {
    try Rules.check(channel: channel)
    var query = Query()
    query.add("limit", String(min(limit, Rules.pageEntries)))
    query.add("next", next)
    let request = HTTPRequest(
      .get,
      origin: settings.origin,
      path: filesPath(channel) + "/files",
      query: query.encoded
    )
    return .ask(request) { [self] response throws(TransferError) in
      let members = Members(try json(response, doing: "list files"))
      var files: [SharedFile] = []
      members["data"]?.forEachElement { element in
        let file = Members(element)
        if let id = file.string("id"), let name = file.string("name") {
          files.append(
            SharedFile(
              id: id,
              name: name,
              size: file.int("size").flatMap { $0 >= 0 ? $0 : nil },
              createdMs: file.string("created").flatMap(HTTPDate.iso8601Milliseconds)
            )
          )
        }
        return true
      }
      return .done(FilePage(files: files, next: members.string("next")))
    }
  }

  package func fileURL(
    channel: String,
    id: String,
    name: String,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<String> {
    try check(channel: channel, id: id, name: name)
    return .done(try url(channel: channel, id: id, name: name, nowMs: nowMs))
  }

  /// Where a file can be had as it is: with the token, or a signature that is good for a minute.
  func url(
    channel: String,
    id: String,
    name: String,
    nowMs: Int64
  ) throws(TransferError) -> String {
    try authorize(contentRequest(channel: channel, id: id, name: name), nowMs: nowMs).url
  }

  package func deleteFile(
    channel: String,
    id: String,
    name: String
  ) throws(TransferError) -> RemoteCall<Void> {
    try check(channel: channel, id: id, name: name)
    let request = deleteRequest(channel: channel, id: id, name: name)
    return .ask(request) { [self] response throws(TransferError) in
      guard response.isSuccess else { throw error(response, doing: "delete the file") }
      return .done(())
    }
  }

  func deleteRequest(channel: String, id: String, name: String) -> HTTPRequest {
    HTTPRequest(
      .delete,
      origin: settings.origin,
      path: filePath(channel: channel, id: id, name: name)
    )
  }
}
