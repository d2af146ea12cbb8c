package import TransferModel

/// What the journal keeps of one transfer.
package struct JournalRow: Sendable, Equatable {
  package var id: TransferID
  /// Rises with every accepted transfer; the order of pages.
  package var number: Int64
  /// The request it came from, by which a second one joins.
  package var origin: TransferOrigin
  /// The name of the remote in the configuration.
  package var remote: String
  package var direction: TransferDirection
  /// On reading, what is unsettled and was last set by another process is `interrupted`.
  package var state: TransferState
  /// From 1; rises with each retry and each process that goes on with it.
  package var attempt: Int
  /// Bytes.
  package var loaded: Int64
  /// Bytes; nil while unknown.
  package var total: Int64?
  /// Small content of an upload, up to 4 KiB; larger content is spooled.
  package var payload: [UInt8]?
  /// The path of the spooled content of an upload.
  package var spool: String?
  /// What the engine needs to go on, opaque here.
  package var progress: [UInt8]?
  /// How it ended, opaque here.
  package var snapshot: [UInt8]?
  /// When the row was last written, in milliseconds since 1970; set by the journal.
  package internal(set) var updatedMs: Int64 = 0

  /// Makes the row of a transfer that was just accepted.
  package init(
    id: TransferID,
    number: Int64,
    origin: TransferOrigin,
    remote: String,
    direction: TransferDirection,
    state: TransferState = .queued,
    attempt: Int = 1,
    loaded: Int64 = 0,
    total: Int64? = nil,
    payload: [UInt8]? = nil,
    spool: String? = nil
  ) {
    self.id = id
    self.number = number
    self.origin = origin
    self.remote = remote
    self.direction = direction
    self.state = state
    self.attempt = attempt
    self.loaded = loaded
    self.total = total
    self.payload = payload
    self.spool = spool
  }
}

extension JournalRow {
  /// Sets what an update sets.
  mutating func apply(_ update: JournalUpdate) {
    state = update.state ?? state
    attempt = update.attempt ?? attempt
    loaded = update.loaded ?? loaded
    total = update.total ?? total
    payload = update.payload ?? payload
    spool = update.spool ?? spool
    progress = update.progress ?? progress
    snapshot = update.snapshot ?? snapshot
  }
}
