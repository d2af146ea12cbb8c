internal import JSON
internal import LocalFiles
internal import Sharing
internal import TransferModel

/// One file as `batch/upload` names it.
struct BatchItem: Sendable {
  let fileID: String
  private let source: SourceParams
  private let ref: String?
  /// The item in canonical form, without the bytes it brought.
  private let canonical: RawJSON

  init(_ node: JSONNode) throws(JSONError) {
    var fields = try JSONFields(node)
    fileID = try fields.batchPart("fileId")
    source = try SourceParams(&fields)
    ref = try fields.optionalString("ref")
    canonical = RawJSON(
      validated: try JSON.canonical(fields.object, excluding: ["data", "text"])
    )
    try fields.finish()
  }

  /// What it is shown as.
  var kind: AttachmentKind { AttachmentKind(contentType: contentType) }

  private var name: String? { source.name ?? source.pathName }
  private var contentType: String { source.contentType(orNames: [source.name, ref]) }

  /// What to transfer for it.
  /// - Throws: `ERR_INVALID_FILE_OBJECT` where it has no name.
  func spec(
    _ id: TransferID,
    _ file: BatchFile,
    on remote: String,
    to destination: BatchSettings.Destination,
    parent: Timetoken?,
    _ server: Server,
    root: String
  ) throws(TransferError) -> TransferSpec {
    var spec = TransferSpec(
      id: id,
      remote: remote,
      operation: try operation(to: destination, parent, server, root: root, remote),
      computesDigest: source.computesDigest,
      reportsProgress: true,
      origin: origin(file, destination, parent),
      root: root
    )
    spec.batchFile = file
    return spec
  }

  private func operation(
    to destination: BatchSettings.Destination,
    _ parent: Timetoken?,
    _ server: Server,
    root: String,
    _ remote: String
  ) throws(TransferError) -> TransferOperation {
    let source = try source.source(relativeTo: root)
    switch destination {
    case .channel(let channel):
      guard ref == nil else {
        throw TransferError(
          .invalidFileObject,
          "ref names objects; leave it out in a batch with a channel.",
          field: "/ref"
        )
      }
      let name = try checkedName()
      var send = SendFile(
        channel: channel,
        name: name,
        contentType: contentType,
        announcement: Announcement(channel: channel, fileID: "", fileName: name),
        source: source
      )
      send.announces = false
      send.parent = parent
      return .sendFile(send)
    case .prefix(let prefix):
      let below: String
      if let ref { below = ref } else { below = try checkedName() }
      return .putObject(
        PutObject(
          reference: try server.object(prefix.fullPath + "/" + below, on: remote),
          settable: SettableMetadata(contentType: contentType),
          condition: WriteCondition(ifNoneMatch: nil, ifMatch: nil),
          source: source
        )
      )
    }
  }

  private func checkedName() throws(TransferError) -> String {
    guard let name, (1...1024).contains(name.utf8.count),
      name.unicodeScalars.allSatisfy({ $0.value >= 32 })
    else {
      throw TransferError(
        .invalidFileObject,
        "The file needs a name of 1 to 1024 bytes without control characters.",
        field: "/name"
      )
    }
    return name
  }

  /// All that it takes to read the item again in a later process.
  private func origin(
    _ file: BatchFile,
    _ destination: BatchSettings.Destination,
    _ parent: Timetoken?
  ) -> TransferOrigin {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("batchId", file.batch)
    writer.field("place", file.place)
    writer.field("parent", parent?.value)
    switch destination {
    case .channel(let channel): writer.field("channel", channel)
    case .prefix(let prefix): writer.field("prefix", prefix.fullPath)
    }
    writer.field("item", canonical)
    writer.endObject()
    return TransferOrigin(
      method: BatchUpload.name,
      params: RawJSON(validated: writer.take()),
      sourceIdentity: ""
    )
  }

  /// Reads an item again that an earlier process took in; its `data` or `text` come back empty.
  static func spec(
    restoring origin: TransferOrigin,
    id: TransferID,
    _ server: Server,
    root: String
  ) throws(TransferError) -> TransferSpec {
    let file: BatchFile
    let destination: BatchSettings.Destination
    let item: BatchItem
    let parent: Timetoken?
    do throws(JSONError) {
      var fields = try JSONFields(JSONNode(origin.params))
      let batch = try fields.string("batchId")
      let place = try fields.int("place")
      let channel = try fields.optionalString("channel")
      let prefix = try fields.optionalString("prefix")
      parent = try fields.optionalInt("parent").map { Timetoken($0) }
      destination = channel.map { .channel($0) } ?? .prefix(ObjectReference(path: prefix ?? ""))
      item = try BatchItem(fields.node("item").withSource)
      file = BatchFile(batch: batch, file: item.fileID, place: place)
    } catch {
      throw TransferError(
        .invalidArgument,
        "The kept request of transfer \(id) cannot be read: \(error)."
      )
    }
    // The remote is in the row.
    var spec = try item.spec(
      id,
      file,
      on: server.defaultRemote,
      to: destination,
      parent: parent,
      server,
      root: root
    )
    spec.origin = origin
    return spec
  }
}

extension JSONNode {
  /// The item with a source: bytes it brought are kept elsewhere.
  fileprivate var withSource: JSONNode {
    get throws(JSONError) {
      let members = try members()
      let names = Set(members.map(\.key))
      guard names.isDisjoint(with: ["path", "stream"]) else { return self }
      var writer = JSONWriter()
      writer.beginObject()
      for (name, value) in members { writer.field(named: name, value.raw) }
      writer.field("text", "")
      writer.endObject()
      return JSONNode(RawJSON(validated: writer.take()))
    }
  }
}

extension JSONFields {
  /// The id of a batch or of a file in it.
  mutating func batchPart(_ name: String) throws(JSONError) -> String {
    guard let id = try optionalBatchPart(name) else { throw missing(name) }
    return id
  }

  /// The id of a batch or of a file in it, where one is given.
  mutating func optionalBatchPart(_ name: String) throws(JSONError) -> String? {
    guard let id = try optionalString(name) else { return nil }
    guard TransferID(id) != nil else {
      throw error(name, "must be 1 to 128 characters, none of them a control character")
    }
    return id
  }

  /// The batch that a method is about.
  mutating func batchID() throws(JSONError) -> String {
    _ = try remote()
    return try batchPart("batchId")
  }

  /// How many files of a batch move at the same time.
  mutating func batchConcurrency() throws(JSONError) -> Int? {
    try optionalInt("concurrency", in: 1...64).map { Int($0) }
  }

  /// How often a batch's file that failed is tried again unasked.
  mutating func batchRetries() throws(JSONError) -> Int? {
    try optionalInt("retries", in: 0...10).map { Int($0) }
  }
}
