internal import JSON
internal import JSONRPC
internal import Sharing
internal import TransferEngine
internal import TransferModel

/// `batch/send`: announces what is uploaded and not yet sent.
struct BatchSend: AsyncMethod {
  static let name = "batch/send"
  let server: Server

  struct Params: Sendable {
    var batchID: String
    var fileIDs: [String]?
    var caption: String?
    /// Where messages show several files.
    var media: MediaRequest
    /// What only media messages have, where any was given.
    var mediaOnly: String?
    var announcement: AnnouncementParams
  }

  struct Outcome: Reply {
    let sent: SentMessages

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.members(of: sent)
      writer.endObject()
    }
  }

  private enum Split: String, CaseIterable { case byType, none }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let batchID = try fields.batchID()
    let fileIDs = try fields.optionalStringArray("fileIds")
    var media = MediaRequest()
    media.files = fileIDs
    media.caption = try fields.optionalString("caption")
    media.kind = try fields.optionalEnum("type", of: AttachmentKind.self)
    let split = try fields.optionalEnum("split", of: Split.self)
    media.isSplit = split != Split.none
    media.muid = try fields.optionalString("muid")
    let tags = try fields.optionalStringArray("tags")
    media.tags = tags ?? []
    if let node = fields.optionalNode("metadata"), !node.isNull {
      guard node.kind == .object else { throw node.error("must be an object") }
      media.metadata = node.raw
    }
    let given = [
      ("type", media.kind != nil), ("split", split != nil), ("muid", media.muid != nil),
      ("tags", tags != nil), ("metadata", media.metadata != nil),
    ]
    let announcement = try AnnouncementParams(&fields, isWhole: false)
    if let meta = announcement.meta, JSONNode(meta).kind != .object {
      throw fields.error("meta", "must be an object, which batchId is added to")
    }
    return Params(
      batchID: batchID,
      fileIDs: fileIDs,
      caption: media.caption,
      media: media,
      mediaOnly: given.first { $0.1 }?.0,
      announcement: announcement
    )
  }

  func run(_ params: Params) async throws(TransferError) -> Outcome {
    let batches = server.sharing.batches
    let settings = try batches.settings(of: params.batchID)
    if server.hasMediaMessages(settings.remote) { return try await send(params, settings) }
    if let name = params.mediaOnly {
      throw TransferError(
        .unsupported,
        "\"\(settings.remote)\" announces files one by one: \(name) is for media messages.",
        field: "/\(name)"
      )
    }
    var announcement = params.announcement
    announcement.message = params.caption.map { Self.message($0) }
    do throws(JSONError) {
      announcement.meta = try Self.meta(announcement.meta, batchID: params.batchID)
    } catch {
      throw TransferError(.invalidArgument, "meta cannot be read: \(error).", field: "/meta")
    }
    let publisher = server.settings.publisher
    return try await outcome(settings) { messages async throws(TransferError) in
      try await batches.send(
        params.batchID,
        params.fileIDs,
        announcement: { channel, file in
          announcement.announcement(
            channel: channel,
            fileID: file.id,
            name: file.name,
            publisher: publisher,
            cipherKey: nil
          )
        },
        messages: &messages
      )
    }
  }

  /// Tells of the files by media messages.
  private func send(
    _ params: Params,
    _ settings: BatchSettings
  ) async throws(TransferError) -> Outcome {
    if let name = params.announcement.given {
      throw TransferError(
        .unsupported,
        "\"\(settings.remote)\" sends media messages, which have no \(name): leave it out.",
        field: "/\(name)"
      )
    }
    var media = params.media
    do throws(JSONError) {
      media.metadata = try Self.meta(media.metadata, batchID: params.batchID)
    } catch {
      throw TransferError(
        .invalidArgument,
        "metadata cannot be read: \(error).",
        field: "/metadata"
      )
    }
    return try await outcome(settings) { messages async throws(TransferError) in
      try await server.sharing.batches.send(
        media: media,
        of: params.batchID,
        messages: &messages
      )
    }
  }

  /// What came of sending, also where not all of it did.
  private func outcome(
    _ settings: BatchSettings,
    _ send: (inout [BatchMessage]) async throws(TransferError) -> Void
  ) async throws(TransferError) -> Outcome {
    var messages: [BatchMessage] = []
    do throws(TransferError) {
      try await send(&messages)
    } catch {
      var error = error
      if error.code == .publishFailed || !messages.isEmpty {
        error.sent = Self.list(messages, settings, within: server.settings.pageBytes)
      }
      throw error
    }
    return Outcome(sent: Self.list(messages, settings, within: server.settings.pageBytes))
  }

  private static func message(_ caption: String) -> RawJSON {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("text", caption)
    writer.endObject()
    return RawJSON(validated: writer.take())
  }

  private static func meta(_ meta: RawJSON?, batchID: String) throws(JSONError) -> RawJSON {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("batchId", batchID)
    if let meta {
      for (name, value) in try JSONNode(meta).members() where name != "batchId" {
        writer.field(named: name, value.raw)
      }
    }
    writer.endObject()
    return RawJSON(validated: writer.take())
  }

  /// The messages that fit a line; `batch/get` tells the message of every file.
  private static func list(
    _ messages: [BatchMessage],
    _ settings: BatchSettings,
    within bytes: Int
  ) -> SentMessages {
    let items = messages.map { message in
      var writer = JSONWriter()
      writer.beginObject()
      writer.field("id", "\(settings.channel ?? ""):\(message.id)")
      writer.field("type", message.kind.rawValue)
      writer.field("muid", message.muid)
      writer.field("fileIds", message.files)
      writer.endObject()
      return RawJSON(validated: writer.take())
    }
    let fit = count(items, within: bytes)
    return SentMessages(messages: Array(items.prefix(fit)), count: items.count)
  }
}
