internal import Backends
internal import JSON
internal import TransferModel

/// Places for files, and the message that shows one.
extension CometChatRemote {
  /// Asks for a place for one file, just before its bytes go.
  func slotRequest(
    _ send: SendFile,
    to conversation: Conversation,
    fileID: String,
    size: Int64
  ) -> HTTPRequest {
    var writer = JSONWriter()
    writer.beginObject()
    writer.object("files") { writer in
      writer.key(named: fileID)
      writer.beginObject()
      writer.field("fileId", fileID)
      writer.field("name", send.name)
      writer.field("size", size)
      writer.field("mimeType", send.contentType)
      writer.endObject()
    }
    writer.field("receiver", conversation.receiver)
    writer.field("receiverType", conversation.type)
    writer.field("parentId", send.parent?.value)
    writer.endObject()
    return request(.post, "/files/upload-url", json: writer.take())
  }

  /// The place in the answer.
  func slot(
    _ response: HTTPResponse,
    fileID: String,
    for send: SendFile,
    size: Int64
  ) throws(TransferError) -> UploadSlot {
    guard response.isSuccess else {
      let fault = Fault(response)
      var refused = fault.error(
        response.status,
        doing: "give a place for \"\(send.name)\"",
        secrets: secrets
      )
      .refusedSlot
      if fault.saysPresigningIsOff {
        refused.code = .presignedURLFailed
        refused.retryableOverride = false
        refused.message =
          "The app gives out its media by public URLs, so there is no place to upload to: switch "
          + "Media URL Access to signed URLs in CometChat's dashboard."
      }
      throw refused
    }
    guard let node = try? JSONNode(parsing: response.body) else {
      throw TransferError(
        .presignedURLFailed,
        "CometChat's answer to the question for a place is no JSON; try again later."
      )
    }
    return try UploadSlot(
      node,
      fileID: fileID,
      send: send,
      size: size,
      nowMs: moment(of: response),
      secrets: secrets
    )
  }

  /// Why the storage did not take a form.
  func uploadError(_ response: HTTPResponse, deadlineMs: Int64) -> TransferError {
    var error = error(response, doing: "take the file")
    let said = (error.serverMessage ?? String(decoding: response.body.prefix(4096), as: UTF8.self))
      .lowercased()
    let isLate = said.contains("expired") || moment(of: response) >= deadlineMs
    error.code =
      switch (error.serverCode, response.status) {
      case ("EntityTooLarge", _): .fileSizeExceeded
      case (_, 403) where isLate: .presignedURLExpired
      default: .s3UploadFailed
      }
    return error
  }

  /// The message of a file that is sent by itself.
  /// - Throws: `ERR_INVALID_ARGUMENT` or `ERR_UNSUPPORTED` for what messages of CometChat have not.
  func message(
    showing attachment: Attachment,
    _ send: SendFile
  ) throws(TransferError) -> MediaMessage {
    let announcement = send.announcement
    let foreign: [(Bool, String)] = [
      (!announcement.store, "store"), (announcement.ttlHours > 0, "ttl"),
      (!announcement.replicate, "replicate"), (!announcement.query.isEmpty, "query"),
      (announcement.customMessageType != nil, "customMessageType"),
    ]
    if let (_, name) = foreign.first(where: { $0.0 }) { throw .foreign(name) }
    if let meta = announcement.meta, JSONNode(meta).kind != .object {
      throw TransferError(
        .invalidArgument,
        "meta must be an object: it is the metadata of a message of CometChat.",
        field: "/meta"
      )
    }
    return MediaMessage(
      channel: send.channel,
      kind: AttachmentKind(contentType: send.contentType),
      attachments: [attachment],
      caption: try announcement.message.map { raw throws(TransferError) in try caption(raw) },
      metadata: announcement.meta,
      parent: send.parent
    )
  }

  /// A text, or an object with a text and nothing else.
  private func caption(_ message: RawJSON) throws(TransferError) -> String {
    let node = JSONNode(message)
    let members = (try? node.members()) ?? []
    if let text = try? node.string() { return text }
    if members.count == 1, members[0].key == "text", let text = try? members[0].value.string() {
      return text
    }
    throw TransferError(
      .invalidArgument,
      "message must be a text, or {\"text\": …}: it is the caption of a message of CometChat; "
        + "put the rest into meta.",
      field: "/message"
    )
  }
}

extension TransferError {
  /// A parameter that messages of CometChat have not.
  static func foreign(_ name: String) -> TransferError {
    TransferError(
      .unsupported,
      "Messages of CometChat have no \(name): leave it out.",
      field: "/\(name)"
    )
  }

  /// A question for a place that got no answer.
  var failedSlot: TransferError {
    withoutSlot(isFinal: false, keeping: [.unauthenticated, .config, .rateLimited])
  }
}
