package import Backends
import Configuration
package import TransferModel

/// The messages of channels: an object each, read back by listing.
extension S3Remote {
  /// Lists after which a page of history ends with what it has.
  private static let mostLists = 10
  /// Lists after which it ends with nothing, or is given up where the names are no messages at all.
  private static let mostIdleLists = 100
  /// What a page of history holds at most, unless one message alone has more.
  private static let pageBytes: Int64 = 16 << 20

  // MARK: Requests

  /// The key of a message.
  /// - Throws: `ERR_INVALID_REFERENCE` for a channel whose name is too long.
  func key(of message: MessageKey, channel: String) throws(TransferError) -> String {
    try key(ChannelLayout.messages(of: channel) + "/" + message.name)
  }

  /// Asks for a page of a channel's messages, newest first.
  ///
  /// - Parameters:
  ///   - channel: Whose messages.
  ///   - beginning: What the names of the wanted ones begin with.
  ///   - mark: What the names of the wanted ones come after.
  ///   - limit: How many at most; above 1,000 means 1,000.
  ///   - next: The server's token for what follows a page.
  /// - Returns: The question.
  /// - Throws: `ERR_INVALID_REFERENCE` for a channel whose name is too long.
  func listMessages(
    channel: String,
    beginning: String = "",
    behind mark: String? = nil,
    limit: Int,
    next: String? = nil
  ) throws(TransferError) -> HTTPRequest {
    let folder = try key(ChannelLayout.messages(of: channel)) + "/"
    var query = [
      ("list-type", "2"), ("encoding-type", "url"), ("max-keys", "\(min(max(limit, 1), 1000))"),
      ("prefix", folder + beginning),
    ]
    if let next {
      query.append(("continuation-token", next))
    } else if let mark {
      query.append(("start-after", folder + mark))
    }
    return request(.get, nil, query: query)
  }

  /// The messages in a page, newest first; what is no message is left out.
  func messages(
    in page: ListedPage,
    channel: String
  ) throws(TransferError) -> [(key: MessageKey, size: Int64)] {
    let folder = try key(ChannelLayout.messages(of: channel)) + "/"
    return page.keys.compactMap { listed in
      guard listed.key.utf8.starts(with: folder.utf8) else { return nil }
      let name = String(Substring(listed.key.utf8.dropFirst(folder.utf8.count)))
      return MessageKey(name).map { ($0, min(listed.size ?? 0, Int64(MessageBody.limit))) }
    }
  }

  /// Fetches a message.
  func get(_ message: MessageKey, channel: String) throws(TransferError) -> HTTPRequest {
    var request = request(.get, try key(of: message, channel: channel))
    request.sink = .beginning(limit: MessageBody.limit)
    return request
  }

  /// The message in an answer; nil where it is gone by now.
  /// - Throws: what the server refused.
  func message(
    _ response: HTTPResponse,
    _ key: MessageKey,
    channel: String
  ) throws(TransferError) -> ChannelMessage? {
    if let fault = S3Fault(response) {
      if fault.isNotFound { return nil }
      throw error(fault, "read a message from")
    }
    var message = MessageBody.decode(response, channel: channel, timetoken: key.timetoken)
    if let file = message.file {
      message.fileURL = try? fileURL(channel: channel, file)
    }
    return message
  }

  /// The message in an answer, with an error in its place where it alone cannot be read, so that it
  /// stops no others; nil where it is gone by now.
  /// - Throws: what stands in the way of all messages, or is gone later.
  func messageOrError(
    _ response: HTTPResponse,
    _ key: MessageKey,
    channel: String
  ) throws(TransferError) -> ChannelMessage? {
    do throws(TransferError) {
      return try message(response, key, channel: channel)
    } catch {
      guard error.code != .unauthenticated, !error.isRetryable else { throw error }
      var message = ChannelMessage(channel: channel, timetoken: key.timetoken, kind: .file)
      message.error = error
      return message
    }
  }

  /// Where a file can be had for an hour, as it is.
  func fileURL(channel: String, _ file: SharedFile) throws(TransferError) -> String {
    let key = try key(filePath(channel: channel, id: file.id, name: file.name))
    return try presigned(key, seconds: Self.fileURLLife, nowMs: nowMs).url
  }

  /// How old a message may be when it is sent, in milliseconds: a quarter of the settle window.
  ///
  /// Listeners look no further back than that window. Half of it is for the server's answer, and the
  /// rest for clocks that differ.
  var freshMs: Int64 { min(30_000, settings.settleWindowMs / 4) }

  /// What a message is refused with that was not sent while it was fresh; it may have been written.
  static let tooLate: TransferError = {
    var error = TransferError(
      .server,
      "The message was not taken in time, and subscribers would not look so far back for it; see in "
        + "channel/history whether it is there, and send it again."
    )
    error.mayHaveArrived = true
    return error
  }()

  /// Writes a message while it is fresh; written twice it is the same one.
  func put(
    _ key: MessageKey,
    _ body: [UInt8],
    channel: String
  ) throws(TransferError) -> HTTPRequest {
    var request = request(
      .put,
      try self.key(of: key, channel: channel),
      headers: [HTTPHeader("Content-Type", "application/json")],
      body: [.bytes(body)]
    )
    request.checksum = checksum
    request.latestMs = key.timetoken.value / 10_000 + freshMs
    request.answerTimeout = .milliseconds(2 * freshMs)
    return request
  }

  /// What a new message is called, from now on or as an announcement of these properties.
  func messageKey(for announcement: Announcement) -> MessageKey {
    let timetoken = nextTimetoken()
    let expires =
      announcement.ttlHours > 0
      ? timetoken.value / 10_000_000 + announcement.ttlHours * 3600 : nil
    return MessageKey(timetoken, expires: expires, isStored: announcement.store)
  }

  // MARK: Calls

  package func announce(
    _ announcement: Announcement,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<Timetoken> {
    let channel = announcement.channel
    let path = try filePath(
      channel: channel,
      id: announcement.fileID,
      name: announcement.fileName
    )
    return .ask(request(.head, try key(path))) { response throws(TransferError) in
      if let fault = S3Fault(response) { throw self.error(fault, "find \(path) in") }
      let metadata = try self.metadata(of: path, response)
      let file = SharedFile(
        id: announcement.fileID,
        name: announcement.fileName,
        size: metadata.size,
        contentType: metadata.settable.contentType,
        sha256: metadata.sha256
      )
      let message = self.messageKey(for: announcement)
      let body = try MessageBody.encode(announcement, file)
      return .ask(try self.put(message, body, channel: channel)) { response throws(TransferError) in
        if let fault = S3Fault(response) { throw self.error(fault, "announce \(path) in") }
        return .done(message.timetoken)
      }
    }
  }

  package func history(
    channel: String,
    limit: Int,
    start: Timetoken?,
    end: Timetoken?,
    cipherKey: Secret?
  ) throws(TransferError) -> RemoteCall<HistoryPage> {
    let wanted = Wanted(
      channel: channel,
      limit: min(max(limit, 1), 1000),
      start: start ?? Timetoken(.max),
      end: end ?? Timetoken(0)
    )
    return try collect(wanted, [], bytes: 0, lists: 0, next: nil)
  }

  /// What is wanted of a history.
  private struct Wanted: Sendable {
    var channel: String
    var limit: Int
    /// Exclusive.
    var start: Timetoken
    /// Inclusive.
    var end: Timetoken
  }

  /// Asks for names until there are as many as are wanted, newest first, then for the messages.
  private func collect(
    _ wanted: Wanted,
    _ keys: [MessageKey],
    bytes: Int64,
    lists: Int,
    next: String?
  ) throws(TransferError) -> RemoteCall<HistoryPage> {
    let request = try listMessages(
      channel: wanted.channel,
      behind: wanted.start.value < .max ? MessageKey.mark(behind: wanted.start) : nil,
      // Where much is not kept, it takes ever more names to find what is.
      limit: (wanted.limit - keys.count + 1) << min(lists, 10),
      next: next
    )
    return .ask(request) { response throws(TransferError) in
      let page = try self.page(response)
      let found = try self.messages(in: page, channel: wanted.channel)
      var keys = keys
      var bytes = bytes
      for (key, size) in found where key.timetoken < wanted.start {
        if key.timetoken < wanted.end { return try self.read(keys, wanted.channel, more: nil) }
        guard key.isStored, !key.isExpired(atMs: self.serverNowMs) else { continue }
        bytes += size
        // Messages of one moment are of one page, since pages are parted by moments.
        if let last = keys.last, last.timetoken != key.timetoken,
          keys.count >= wanted.limit || bytes > Self.pageBytes
        {
          return try self.read(keys, wanted.channel, more: last.timetoken)
        }
        keys.append(key)
      }
      guard let next = page.next else { return try self.read(keys, wanted.channel, more: nil) }
      let most = keys.isEmpty ? Self.mostIdleLists : Self.mostLists
      if lists + 1 >= most, let last = found.last {
        return try self.read(keys, wanted.channel, more: last.key.timetoken)
      }
      guard lists + 1 < Self.mostIdleLists else {
        throw TransferError(
          .server,
          "\(self.place) lists no end of names in the channel's folder that are no messages; remove "
            + "what ferry has not written there."
        )
      }
      return try self.collect(wanted, keys, bytes: bytes, lists: lists + 1, next: next)
    }
  }

  /// Asks for messages, and gives them oldest first.
  private func read(
    _ keys: [MessageKey],
    _ channel: String,
    more: Timetoken?
  ) throws(TransferError) -> RemoteCall<HistoryPage> {
    let keys = keys.sorted()
    var requests: [HTTPRequest] = []
    for key in keys { requests.append(try get(key, channel: channel)) }
    return .askAll(requests) { responses throws(TransferError) in
      var messages: [ChannelMessage] = []
      for (key, response) in zip(keys, responses) {
        if let message = try self.messageOrError(response, key, channel: channel) {
          messages.append(message)
        }
      }
      return .done(HistoryPage(messages: messages, more: more))
    }
  }

  package func message(
    channel: String,
    timetoken: Timetoken
  ) throws(TransferError) -> RemoteCall<ChannelMessage> {
    try find(channel: channel, timetoken) { key throws(TransferError) in
      .ask(try self.get(key, channel: channel)) { response throws(TransferError) in
        guard let message = try self.message(response, key, channel: channel) else {
          throw Self.noMessage(channel, timetoken)
        }
        return .done(message)
      }
    }
  }

  package func deleteMessage(
    channel: String,
    timetoken: Timetoken
  ) throws(TransferError) -> RemoteCall<Void> {
    try find(channel: channel, timetoken) { key throws(TransferError) in
      .ask(self.request(.delete, try self.key(of: key, channel: channel))) {
        response throws(TransferError) in
        if let fault = S3Fault(response) { throw self.error(fault, "remove a message from") }
        return .done(())
      }
    }
  }

  /// Looks for the name of a stored message.
  private func find<Value>(
    channel: String,
    _ timetoken: Timetoken,
    then: @escaping @Sendable (MessageKey) throws(TransferError) -> RemoteCall<Value>
  ) throws(TransferError) -> RemoteCall<Value> {
    .ask(try findMessage(channel: channel, timetoken)) { response throws(TransferError) in
      try then(self.foundMessage(response, channel: channel, timetoken))
    }
  }

  /// Asks for the names of a moment's messages.
  func findMessage(channel: String, _ timetoken: Timetoken) throws(TransferError) -> HTTPRequest {
    try listMessages(
      channel: channel,
      beginning: MessageKey.prefix(of: timetoken),
      limit: 10
    )
  }

  /// The name of the stored message in an answer.
  /// - Throws: `ERR_NOT_FOUND`, also for what history does not keep or keeps no longer.
  func foundMessage(
    _ response: HTTPResponse,
    channel: String,
    _ timetoken: Timetoken
  ) throws(TransferError) -> MessageKey {
    let found = try messages(in: page(response), channel: channel).first { key, _ in
      key.timetoken == timetoken && key.isStored && !key.isExpired(atMs: serverNowMs)
    }
    guard let found else { throw Self.noMessage(channel, timetoken) }
    return found.key
  }

  /// Says that there is no such message.
  static func noMessage(_ channel: String, _ timetoken: Timetoken) -> TransferError {
    TransferError(
      .notFound,
      "Channel \"\(channel)\" keeps no message of \(timetoken); it was not stored, or is gone."
    )
  }

  package func feed() throws(TransferError) -> any SubscriptionFeed { S3Feed(remote: self) }
}
