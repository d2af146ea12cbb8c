internal import TransferModel

/// Transfers of batches that have ended, or that an earlier process left, and whose record is in
/// the journal alone; a value without I/O.
///
/// A batch keeps its files until it is cleared, which may be a hundred thousand.
struct Shelf {
  /// What is known without asking the journal.
  struct Entry {
    /// Its place in the order of all transfers.
    var number: Int64
    var remote: String
    var state: TransferState
    var file: BatchFile
  }

  private var entries: [TransferID: Entry] = [:]

  subscript(id: TransferID) -> Entry? { entries[id] }

  func contains(_ id: TransferID) -> Bool { entries[id] != nil }

  /// Those that fit, in no order.
  func all(where fits: (Entry) -> Bool) -> [(number: Int64, id: TransferID)] {
    entries.compactMap { id, entry in fits(entry) ? (entry.number, id) : nil }
  }

  mutating func add(_ id: TransferID, _ entry: Entry) { entries[id] = entry }

  mutating func remove(_ id: TransferID) -> Entry? { entries.removeValue(forKey: id) }
}
