import TransferModel

/// One call's work on the index, run on the store's thread in a transaction it shares with others.
struct IndexJob: Sendable {
  let kind: Kind
  /// Content the job publishes, durable before the transaction begins.
  let staging: Staging?
  /// Does the work; what it returns tells the caller, once the transaction has ended well.
  let run: @Sendable (Index) throws(TransferError) -> () -> Void
  /// Tells the caller that the work, or the transaction around it, failed.
  let refuse: @Sendable (TransferError) -> Void

  /// Answers with an error what no transaction has seen.
  func fail(_ error: TransferError) {
    staging?.publishingFailed()
    refuse(error)
  }

  enum Kind: Sendable { case read, write }
}
