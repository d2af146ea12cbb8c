package import Backends
internal import Crypto
internal import JSON
package import TransferModel

/// Messages of conversations. Their ids are decimal numbers that rise, and serve as timetokens.
extension CometChatRemote {
  package func channel(_ name: String) throws(TransferError) -> String {
    try Conversation(name).channel
  }

  package func complete(_ message: MediaMessage) throws(TransferError) -> MediaMessage {
    var message = message
    message.muid = Self.muid(of: message)
    try Rules.check(message, to: Conversation(message.channel))
    return message
  }

  /// What tells a message from all others; the same whenever it is made of the same files.
  static func muid(of message: MediaMessage) -> String {
    if let muid = message.muid { return muid }
    let digest = Digest(.sha256)
    digest.update(Array((message.attachments.first?.file.id ?? "").utf8))
    return "ferry-" + digest.hex.prefix(32)
  }

  /// Tells a conversation of files; sent twice it is told twice.
  func request(for message: MediaMessage) throws(TransferError) -> HTTPRequest {
    let conversation = try Conversation(message.channel)
    let message = try complete(message)
    return request(
      .post,
      message.parent.map { "/messages/\($0)/thread" } ?? "/messages",
      json: MessageBody.json(of: message, to: conversation),
      isRepeatable: false
    )
  }

  /// The id in the answer to a message.
  func messageID(_ response: HTTPResponse) throws(TransferError) -> Timetoken {
    let node = try json(response, doing: "send the message")
    guard let id = Members(Members(node)["data"] ?? node).int("id"), id > 0 else {
      throw TransferError(
        .server,
        "CometChat's answer names no message; something between may have answered in its place."
      )
    }
    return Timetoken(id)
  }

  package func send(_ message: MediaMessage) throws(TransferError) -> RemoteCall<Timetoken> {
    .ask(try request(for: message)) { [self] response throws(TransferError) in
      .done(try messageID(response))
    }
  }

  /// Pages of a conversation that are looked through for a message.
  static let lookedPages = 10

  package func find(
    _ message: AskedMessage
  ) throws(TransferError) -> RemoteCall<MessageFinding>? {
    try look(for: message, before: nil, pages: Self.lookedPages)
  }

  private func look(
    for message: AskedMessage,
    before: Timetoken?,
    pages: Int
  ) throws(TransferError) -> RemoteCall<MessageFinding> {
    .ask(try lookRequest(for: message, before: before)) { [self] response throws(TransferError) in
      switch try find(message, in: response) {
      case .there(let id): return .done(.made(id))
      case .absent: return .done(.absent)
      case .further(let oldest) where pages > 1:
        return try look(for: message, before: oldest, pages: pages - 1)
      case .further: return .done(.unknown)
      }
    }
  }

  /// What came of looking for a message in a page.
  enum Found: Equatable {
    case there(Timetoken)
    /// Not in this page; there are older ones than this id.
    case further(Timetoken)
    case absent
  }

  /// A page that may have a message.
  func lookRequest(
    for message: AskedMessage,
    before: Timetoken?
  ) throws(TransferError) -> HTTPRequest {
    let conversation = try Conversation(message.channel)
    return page(
      message.parent.map { "/messages/\($0)/thread" } ?? conversation.messagesPath,
      limit: Rules.pageEntries,
      before: before
    )
  }

  /// Whether a page has a message: the same muid and the same files.
  func find(_ message: AskedMessage, in response: HTTPResponse) throws(TransferError) -> Found {
    let entries = try entries(response)
    let reader = MessageReader(channel: message.channel)
    for entry in entries where entry.string("muid") == message.muid {
      if let id = entry.int("id"), reader.attachments(of: entry).map(\.file.id) == message.fileIDs {
        return .there(Timetoken(id))
      }
    }
    let oldest = entries.compactMap { $0.int("id") }.min()
    guard let oldest, entries.count >= Rules.pageEntries else { return .absent }
    return .further(Timetoken(oldest))
  }

  private func page(_ path: String, limit: Int, before: Timetoken?) -> HTTPRequest {
    let cursor = before.map { "&id=\($0)" } ?? ""
    return request(.get, path, query: "limit=\(limit)&affix=prepend\(cursor)")
  }

  private func entries(_ response: HTTPResponse) throws(TransferError) -> [Members] {
    let node = try json(response, doing: "give the conversation's messages")
    var entries: [Members] = []
    (Members(node)["data"] ?? node).forEachElement { entry in
      entries.append(Members(entry))
      return true
    }
    return entries
  }

  package func history(
    channel: String,
    limit: Int,
    start: Timetoken?,
    end: Timetoken?,
    cipherKey: Secret?
  ) throws(TransferError) -> RemoteCall<HistoryPage> {
    let conversation = try Conversation(channel)
    let limit = min(limit, Rules.pageEntries)
    let request = page(conversation.messagesPath, limit: limit, before: start)
    return .ask(request) { [self] response throws(TransferError) in
      let entries = try entries(response)
      let oldest = entries.compactMap { $0.int("id") }.min().map { Timetoken($0) }
      let reader = MessageReader(channel: conversation.channel)
      let messages = entries.compactMap { reader.message($0) }
        .filter { message in end.map { message.timetoken >= $0 } ?? true }
        .sorted { $0.timetoken < $1.timetoken }
      let hasMore = entries.count >= limit && (oldest ?? Timetoken(0)) > (end ?? Timetoken(0))
      return .done(HistoryPage(messages: messages, more: hasMore ? oldest : nil))
    }
  }

  /// Asks for one message.
  func messageRequest(_ id: Timetoken) -> HTTPRequest { request(.get, "/messages/\(id)") }

  /// The one message in an answer.
  /// - Throws: `ERR_NOT_FOUND`.
  func message(
    _ response: HTTPResponse,
    channel: String,
    id: Timetoken
  ) throws(TransferError) -> ChannelMessage {
    let conversation = try Conversation(channel, field: "/messageId")
    let node = try json(response, doing: "give the message")
    let entry = Members(Members(node)["data"] ?? node)
    let reader = MessageReader(channel: conversation.channel)
    guard reader.isOf(conversation, entry), let message = reader.message(entry),
      message.timetoken == id
    else {
      throw TransferError(
        .notFound,
        "Conversation \"\(channel)\" has no message \(id), or it was removed."
      )
    }
    return message
  }

  package func message(
    channel: String,
    timetoken: Timetoken
  ) throws(TransferError) -> RemoteCall<ChannelMessage> {
    _ = try Conversation(channel, field: "/messageId")
    return .ask(messageRequest(timetoken)) { [self] response throws(TransferError) in
      .done(try message(response, channel: channel, id: timetoken))
    }
  }

  package func deleteMessage(
    channel: String,
    timetoken: Timetoken
  ) throws(TransferError) -> RemoteCall<Void> {
    _ = try Conversation(channel, field: "/messageId")
    // Looked at first: an id alone does not tell whose message goes.
    return .ask(messageRequest(timetoken)) { [self] response throws(TransferError) in
      _ = try message(response, channel: channel, id: timetoken)
      return .ask(request(.delete, "/messages/\(timetoken)")) {
        [self] response throws(TransferError) in
        guard response.isSuccess else { throw error(response, doing: "delete the message") }
        return .done(())
      }
    }
  }
}
