internal import JSON
internal import TransferModel

extension Batch {
  /// A message that was asked for and not answered: it may have been made.
  struct Asked: Equatable {
    var message: AskedMessage
    /// What it is shown as.
    var kind: AttachmentKind
    /// The files it shows that are still in doubt.
    var files: [File]

    /// A file of the batch, as it was when the message was asked for.
    struct File: Equatable {
      @ExactString var id: String
      var transfer: TransferID

      init(_ file: Batch.File) { self.init(id: file.id, transfer: file.transfer) }

      init(id: String, transfer: TransferID) {
        self.id = id
        self.transfer = transfer
      }
    }

    /// The same of these files alone; nil where it shows none.
    func showing(_ files: [File]) -> Asked? {
      var message = self
      message.files.removeAll { !files.contains($0) }
      return message.files.isEmpty ? nil : message
    }
  }

  /// A send of several media messages of which some are told, so that the same call again goes on.
  struct Unfinished: Equatable {
    var caption: String?
    var muid: String?
    /// The ids of those that are not told.
    var files: [ExactString]
    /// Messages that are told.
    var sent: Int

    /// Whether a message shows files that are not told.
    func shows(_ message: Asked) -> Bool {
      message.files.contains { files.contains(ExactString($0.id)) }
    }
  }
}

/// A batch as the journal keeps it: all but its files, which have rows of their own.
extension Batch {
  var record: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    settings.write(to: &writer)
    if !asked.isEmpty { writer.array("messages", asked) { $0.write(to: &$1) } }
    if let unfinished {
      writer.object("unfinished") { writer in
        writer.field("caption", unfinished.caption)
        writer.field("muid", unfinished.muid)
        writer.field("files", unfinished.files.map(\.text))
        writer.field("sent", unfinished.sent)
      }
    }
    writer.endObject()
    return writer.take()
  }

  /// Reads what `record` wrote; nil for what no version wrote.
  init?(id: String, decoding record: [UInt8]) {
    do throws(JSONError) {
      var fields = try JSONFields(JSONNode(parsing: record))
      let settings = try BatchSettings(id: id, &fields)
      let asked = try fields.optionalNode("messages")?.elements() ?? []
      self.init(
        settings,
        asked: try asked.map { node throws(JSONError) in
          var fields = try JSONFields(node)
          return try Asked(&fields, channel: settings.channel ?? "")
        },
        unfinished: try fields.optionalObject("unfinished") { fields throws(JSONError) in
          try Unfinished(
            caption: fields.optionalString("caption"),
            muid: fields.optionalString("muid"),
            files: (fields.optionalStringArray("files") ?? []).map { ExactString($0) },
            sent: Int(fields.int("sent"))
          )
        }
      )
    } catch {
      return nil
    }
  }
}

extension Batch.Asked {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.field("kind", kind.rawValue)
    writer.field("files", message.fileIDs)
    writer.field("muid", message.muid)
    writer.field("parent", message.parent?.value)
    writer.field("askedMs", message.askedMs)
    writer.field("isKept", message.isKept)
    writer.field("expiresMs", message.expiresMs)
    writer.field("ids", files.map(\.id))
    writer.field("transfers", files.map(\.transfer.description))
    writer.endObject()
  }

  fileprivate init(_ fields: inout JSONFields, channel: String) throws(JSONError) {
    message = AskedMessage(
      channel: channel,
      fileIDs: try fields.optionalStringArray("files") ?? [],
      muid: try fields.optionalString("muid"),
      parent: try fields.optionalInt("parent").map { Timetoken($0) },
      askedMs: try fields.int("askedMs"),
      isKept: try fields.bool("isKept", default: true),
      expiresMs: try fields.optionalInt("expiresMs")
    )
    kind = try fields.optionalEnum("kind", of: AttachmentKind.self) ?? .file
    let ids = try fields.optionalStringArray("ids") ?? []
    let transfers = try fields.optionalStringArray("transfers") ?? []
    files = zip(ids, transfers).compactMap { id, transfer in
      TransferID(transfer).map { File(id: id, transfer: $0) }
    }
  }
}

extension JSONWriter {
  fileprivate mutating func array<Element>(
    _ name: StaticString,
    _ elements: [Element],
    _ write: (Element, inout JSONWriter) -> Void
  ) {
    key(name)
    beginArray()
    for element in elements { write(element, &self) }
    endArray()
  }
}
