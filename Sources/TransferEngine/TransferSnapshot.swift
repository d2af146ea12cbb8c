package import TransferModel

/// Everything that is known of a transfer at one moment.
package struct TransferSnapshot: Sendable {
  package let spec: TransferSpec
  package let state: TransferState
  /// Bytes.
  package let loaded: Int64
  /// Bytes in all; nil while unknown.
  package let total: Int64?
  /// From 1.
  package let attempt: Int
  /// Why it failed or was rejected.
  package let error: TransferError?
  /// What came of it.
  package let result: TransferResult?
}

/// One page of transfers, in the order they were accepted.
package struct TransferPage: Sendable {
  /// In the order they were accepted.
  package let transfers: [TransferSnapshot]
  /// For each transfer, the `next` with which a page starts behind it.
  package let numbers: [Int64]
  /// Whether there are more behind these.
  package let hasMore: Bool
}
