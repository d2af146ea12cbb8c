package import Backends
internal import Configuration
internal import Crypto
internal import JSON
package import TransferModel

/// Messages that PubNub has kept.
extension PubNubRemote {
  private func historyPath(_ channel: String) -> String {
    "/v3/history/sub-key/\(settings.subscribeKey)/channel/\(PercentEncoding.component(channel))"
  }

  /// Asks for a page: older than `start`, not older than `end`.
  func historyRequest(
    channel: String,
    limit: Int,
    start: Timetoken? = nil,
    end: Timetoken? = nil
  ) -> HTTPRequest {
    var query = Query()
    query.add("max", String(min(limit, Rules.pageEntries)))
    query.add("start", start?.description)
    query.add("end", end?.description)
    for name in ["meta", "uuid", "message_type", "custom_message_type"] {
      query.add("include_" + name, "true")
    }
    return HTTPRequest(
      .get,
      origin: settings.origin,
      path: historyPath(channel),
      query: query.encoded
    )
  }

  /// The page in an answer.
  func page(
    _ response: HTTPResponse,
    channel: String,
    cipher: ContentCipher?,
    nowMs: Int64
  ) throws(TransferError) -> HistoryPage {
    let node = try json(response, doing: "give the channel's history", salvaging: 4)
    let members = Members(node)
    if let failed = members["error"], (try? failed.bool()) == true {
      throw error(response, doing: "give the channel's history")
    }
    guard let channels = members["channels"], channels.kind == .object else {
      throw TransferError(
        .server,
        "PubNub's answer names no channels; something between may have answered in its place."
      )
    }
    var entries: [JSONNode] = []
    // One channel was asked for; its name may come escaped.
    channels.forEachMember { _, list in
      entries = (try? list.elements()) ?? []
      return entries.isEmpty
    }
    let reader = MessageReader(remote: self, cipher: cipher, nowMs: nowMs)
    let messages = entries.compactMap { reader.message(inHistory: $0, of: channel) }
    return HistoryPage(
      messages: messages.sorted { $0.timetoken < $1.timetoken },
      more: Members(members["more"]).timetoken("start")
    )
  }

  package func history(
    channel: String,
    limit: Int,
    start: Timetoken?,
    end: Timetoken?,
    cipherKey: Secret?
  ) throws(TransferError) -> RemoteCall<HistoryPage> {
    try Rules.check(channel: channel)
    let cipher = try cipher(cipherKey)
    let request = historyRequest(channel: channel, limit: limit, start: start, end: end)
    return .ask(request) { [self] response throws(TransferError) in
      .done(try page(response, channel: channel, cipher: cipher, nowMs: lastNowMs))
    }
  }

  /// Asks for the one message of a moment.
  func messageRequest(channel: String, timetoken: Timetoken) -> HTTPRequest {
    historyRequest(
      channel: channel,
      limit: 1,
      // Exclusive; a host may ask for any number.
      start: Timetoken(timetoken.value == .max ? .max : timetoken.value + 1),
      end: timetoken
    )
  }

  /// The one message in an answer.
  /// - Throws: `ERR_NOT_FOUND`.
  func message(
    _ response: HTTPResponse,
    channel: String,
    timetoken: Timetoken,
    cipher: ContentCipher?
  ) throws(TransferError) -> ChannelMessage {
    let page = try page(response, channel: channel, cipher: cipher, nowMs: lastNowMs)
    guard let message = page.messages.first(where: { $0.timetoken == timetoken }) else {
      throw TransferError(
        .notFound,
        "Channel \"\(channel)\" keeps no message of \(timetoken); it was not stored, or is gone."
      )
    }
    return message
  }

  package func message(
    channel: String,
    timetoken: Timetoken
  ) throws(TransferError) -> RemoteCall<ChannelMessage> {
    try Rules.check(channel: channel, field: "/messageId")
    let cipher = try cipher(nil)
    let request = messageRequest(channel: channel, timetoken: timetoken)
    return .ask(request) { [self] response throws(TransferError) in
      .done(try message(response, channel: channel, timetoken: timetoken, cipher: cipher))
    }
  }

  package func deleteMessage(
    channel: String,
    timetoken: Timetoken
  ) throws(TransferError) -> RemoteCall<Void> {
    try Rules.check(channel: channel, field: "/messageId")
    var query = Query()
    query.add("start", String(max(timetoken.value - 1, 0)))
    query.add("end", timetoken.description)
    let request = HTTPRequest(
      .delete,
      origin: settings.origin,
      path: historyPath(channel),
      query: query.encoded
    )
    return .ask(request) { [self] response throws(TransferError) in
      guard response.isSuccess else { throw error(response, doing: "delete the message") }
      return .done(())
    }
  }
}
