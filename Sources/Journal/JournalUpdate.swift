package import TransferModel

/// New values for some columns of a row: nil leaves a column, `.some(nil)` empties it.
package struct JournalUpdate: Sendable, Equatable {
  /// Setting it makes an interrupted transfer this process's own.
  package var state: TransferState?
  package var attempt: Int?
  /// Bytes.
  package var loaded: Int64?
  /// Bytes; empty while unknown.
  package var total: Int64??
  package var payload: [UInt8]??
  package var spool: String??
  package var temporary: String??
  package var checkpoint: [UInt8]??
  package var progress: [UInt8]??
  package var snapshot: [UInt8]??

  /// An update of nothing; the columns are set on the value.
  package init() {}

  /// The end of a transfer: its state and snapshot; what it took to go on is dropped.
  package static func settled(_ state: TransferState, snapshot: [UInt8]) -> JournalUpdate {
    var update = JournalUpdate()
    update.state = state
    update.snapshot = snapshot
    update.checkpoint = .some(nil)
    update.progress = .some(nil)
    return update
  }

  /// Lays a later update over this one.
  mutating func merge(_ later: JournalUpdate) {
    state = later.state ?? state
    attempt = later.attempt ?? attempt
    loaded = later.loaded ?? loaded
    total = later.total ?? total
    payload = later.payload ?? payload
    spool = later.spool ?? spool
    temporary = later.temporary ?? temporary
    checkpoint = later.checkpoint ?? checkpoint
    progress = later.progress ?? progress
    snapshot = later.snapshot ?? snapshot
  }
}
