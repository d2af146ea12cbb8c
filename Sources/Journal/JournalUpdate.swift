package import TransferModel

/// New values for some columns of a row: nil leaves a column, `.some(nil)` empties it.
package struct JournalUpdate: Sendable, Equatable {
  /// Setting it makes an interrupted transfer this process's own.
  package var state: TransferState?
  /// From 1.
  package var attempt: Int?
  /// Bytes.
  package var loaded: Int64?
  /// Bytes; empty while unknown.
  package var total: Int64??
  /// Small content of an upload.
  package var payload: [UInt8]??
  /// The path of spooled content.
  package var spool: String??
  /// Opaque: what the engine needs.
  package var progress: [UInt8]??
  /// Opaque: how it ended.
  package var snapshot: [UInt8]??

  /// An update of nothing; the columns are set on the value.
  package init() {}

  /// Lays a later update over this one.
  mutating func merge(_ later: JournalUpdate) {
    state = later.state ?? state
    attempt = later.attempt ?? attempt
    loaded = later.loaded ?? loaded
    total = later.total ?? total
    payload = later.payload ?? payload
    spool = later.spool ?? spool
    progress = later.progress ?? progress
    snapshot = later.snapshot ?? snapshot
  }
}
