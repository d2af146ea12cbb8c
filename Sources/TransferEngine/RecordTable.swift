internal import TransferModel

/// The records of transfers by their ids.
///
/// Each is in a box of its own: a record takes a kilobyte, and a table of them as much again for
/// its empty places.
struct RecordTable {
  private var boxes: [TransferID: Box] = [:]

  // Reached through the table alone, which the engine's lock guards.
  private final class Box: @unchecked Sendable {
    var record: TransferRecord?
    /// What was written of it, until it changes.
    var text: [UInt8]?
    var changes = 0

    init(_ record: TransferRecord) { self.record = record }
  }

  subscript(id: TransferID) -> TransferRecord? {
    get { boxes[id]?.record }
    _modify {
      let box = boxes[id]
      // Taken out meanwhile, so that what is changed in it is not copied.
      var record = box?.record.take()
      box?.text = nil
      box?.changes += 1
      defer {
        if let record, let box {
          box.record = record
        } else {
          boxes[id] = record.map { Box($0) }
        }
      }
      yield &record
    }
  }

  /// Without a copy of the record, which has some thirty references to count.
  func snapshot(of id: TransferID) -> TransferSnapshot? { boxes[id]?.record?.snapshot }

  /// What was written of a transfer since it changed last; else what there is to write.
  func text(of id: TransferID) -> Text? {
    guard let box = boxes[id] else { return nil }
    if let text = box.text { return .written(text) }
    return box.record.map { .unwritten($0.snapshot, Version(number: box.changes)) }
  }

  enum Text {
    case written([UInt8])
    case unwritten(TransferSnapshot, Version)
  }

  struct Version { fileprivate let number: Int }

  /// Keeps what was written of a transfer, unless it has changed meanwhile.
  func keep(_ text: [UInt8], of id: TransferID, _ version: Version) {
    if let box = boxes[id], box.changes == version.number { box.text = text }
  }

  var ids: [TransferID] { Array(boxes.keys) }
  var all: some Sequence<TransferRecord> { boxes.values.lazy.compactMap(\.record) }

  mutating func remove(_ id: TransferID) -> TransferRecord? {
    boxes.removeValue(forKey: id)?.record
  }
}
