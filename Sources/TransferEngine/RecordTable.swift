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

    init(_ record: TransferRecord) { self.record = record }
  }

  subscript(id: TransferID) -> TransferRecord? {
    get { boxes[id]?.record }
    _modify {
      let box = boxes[id]
      // Taken out meanwhile, so that what is changed in it is not copied.
      var record = box?.record.take()
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

  var ids: [TransferID] { Array(boxes.keys) }
  var all: some Sequence<TransferRecord> { boxes.values.lazy.compactMap(\.record) }

  mutating func remove(_ id: TransferID) -> TransferRecord? {
    boxes.removeValue(forKey: id)?.record
  }
}
