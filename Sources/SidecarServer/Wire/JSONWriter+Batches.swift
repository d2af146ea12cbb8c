internal import JSON
internal import Sharing
internal import TransferEngine
internal import TransferModel

extension JSONWriter {
  /// Which transfer an event is about, and which file of which batch.
  mutating func subject(_ id: TransferID, _ file: BatchFile?) {
    field("transferId", id.description)
    field("batchId", file?.batch)
    field("fileId", file?.file)
  }

  /// One file of a batch.
  mutating func entry(_ entry: BatchEntry, of batch: String) {
    beginObject()
    field("fileId", entry.id)
    if let snapshot = entry.snapshot {
      field("transferId", entry.transfer.description)
      field("name", snapshot.spec.batchName)
    }
    field("state", entry.state.rawValue)
    field("loaded", entry.snapshot?.loaded ?? 0)
    key("total")
    if let total = entry.snapshot?.total { int(total) } else { null() }
    if entry.state == .succeeded { attachment("attachment", entry) }
    if let error = entry.error {
      key("error")
      error.write(to: &self, entry.context(in: batch))
    }
    field("sent", entry.isSent)
    field("messageId", entry.messageID)
    if entry.isInDoubt { field("inDoubt", true) }
    endObject()
  }

  /// Messages that were sent, how many there are, and whether that is more than are listed.
  mutating func members(of sent: SentMessages) {
    array("messages", sent.messages)
    field("count", sent.count)
    if sent.isTruncated { field("truncated", true) }
  }

  /// The members of a batch that is complete; its files as far as they fit a number of bytes.
  mutating func completion(_ completion: BatchCompletion, within bytes: Int) {
    let groups: [(name: StaticString, state: TransferState)] = [
      ("successful", .succeeded), ("rejected", .rejected), ("failed", .failed),
    ]
    field("batchId", completion.id)
    object("counts") { writer in
      for group in groups { writer.field(group.name, completion.counts[group.state] ?? 0) }
    }
    var room = bytes
    var isTruncated = false
    for group in groups {
      let all = completion.files.lazy.filter { $0.state == group.state }
      var items: [RawJSON] = []
      for entry in all {
        var writer = JSONWriter()
        writer.outcome(of: entry, in: completion.id)
        let item = RawJSON(validated: writer.take())
        room -= item.bytes.count + 1
        if room < 0 { break }
        items.append(item)
      }
      array(group.name, items)
      if items.count < completion.counts[group.state] ?? 0 { isTruncated = true }
    }
    if isTruncated { field("truncated", true) }
  }

  private mutating func outcome(of entry: BatchEntry, in batch: String) {
    beginObject()
    field("fileId", entry.id)
    if entry.state == .succeeded {
      attachment("attachment", entry)
    } else if let error = entry.error {
      key("error")
      error.write(to: &self, entry.context(in: batch))
    }
    endObject()
  }

  /// An attachment with the file it is.
  mutating func attachment(of entry: BatchEntry) {
    beginObject()
    field("fileId", entry.id)
    field("type", entry.kind.rawValue)
    field("sent", entry.isSent)
    attachment("attachment", entry)
    endObject()
  }

  /// A member with what is uploaded of a file.
  mutating func attachment(_ name: StaticString, _ entry: BatchEntry) {
    if let result = entry.snapshot?.result { attachment(name, result) }
  }

  /// A member with what is uploaded.
  mutating func attachment(_ name: StaticString, _ result: TransferResult) {
    switch result {
    case .shared(let shared):
      let file = shared.file
      attachment(name, url: shared.url, file.name, type: file.contentType, size: file.size)
    case .stored(let stored):
      let metadata = stored.metadata
      attachment(
        name,
        url: stored.url,
        ObjectReference(path: metadata.fullPath).name,
        type: metadata.settable.contentType,
        size: metadata.size
      )
    case .downloaded:
      break
    }
  }

  private mutating func attachment(
    _ key: StaticString,
    url: String?,
    _ name: String,
    type: String?,
    size: Int64?
  ) {
    object(key) { $0.attachmentMembers(url: url, name, type: type, size: size) }
  }

  /// The members of an attachment.
  mutating func attachmentMembers(url: String?, _ name: String, type: String?, size: Int64?) {
    field("url", url)
    field("name", name)
    field("mimeType", type)
    field("extension", SharedFile.pathExtension(of: name))
    field("size", size)
  }
}

extension BatchEntry {
  /// The message that told of it.
  fileprivate var messageID: String? {
    guard isSent, case .shared(let shared) = snapshot?.result, let timetoken = shared.timetoken
    else { return nil }
    return "\(shared.channel):\(timetoken)"
  }

  /// What an error about it tells beside itself.
  func context(in batch: String) -> TransferError.Context {
    .init(
      transferID: refusal == nil ? transfer : nil,
      attempt: snapshot?.attempt,
      batchID: batch,
      fileID: id
    )
  }
}

extension TransferSpec {
  /// What an upload's file or object is called.
  var batchName: String? {
    switch operation {
    case .putObject(let put): put.reference.name
    case .sendFile(let send): send.name
    case .getObject, .downloadFile: nil
    }
  }
}
