package import JSON
package import TransferEngine
package import TransferModel

/// What happens to batches beside their transfers.
package enum BatchEvent: Sendable {
  /// A file was refused that is no transfer; `isDuplicate`: the one of the same id stays as it is.
  case refused(BatchFileName, TransferError, isDuplicate: Bool)
  /// Nothing of the batch is under way any more.
  case completed(BatchCompletion)
}

/// A file of a batch.
package struct BatchFileName: Sendable, Equatable {
  /// The batch's id.
  @ExactString package private(set) var batch: String
  /// The file's id.
  @ExactString package private(set) var file: String
}

/// What is known of one file of a batch.
package struct BatchEntry: Sendable {
  /// Chosen by the host.
  package let id: String
  package let transfer: TransferID
  /// Where it stands among the files of its batch.
  package let place: Int64
  package let state: TransferState
  /// What its type makes of it.
  package let kind: AttachmentKind
  /// Whether its channel was told of it.
  package let isSent: Bool
  /// Whether a message that shows it may have been made all the same.
  package let isInDoubt: Bool
  /// Of its transfer; nil for one that never was one, or is gone.
  package let snapshot: TransferSnapshot?
  /// Why it was refused, where it never was a transfer.
  package let refusal: TransferError?

  /// Why it failed or was refused.
  package var error: TransferError? { refusal ?? snapshot?.error }
}

/// Some files of a batch, and how all of it stands.
package struct BatchPage: Sendable {
  /// Whether nothing is under way.
  package let isIdle: Bool
  /// How many files are in each state.
  package let counts: [TransferState: Int]
  /// In the order they were added.
  package let files: [BatchEntry]
  /// Whether there are more behind these.
  package let hasMore: Bool
}

/// A batch of which nothing is under way any more.
package struct BatchCompletion: Sendable {
  /// The batch's id.
  package let id: String
  /// How many files are in each state.
  package let counts: [TransferState: Int]
  /// The first of those that have ended, in the order they were added.
  package let files: [BatchEntry]
}

/// What was announced of a batch.
package struct BatchMessage: Sendable {
  /// The message's id.
  package let id: String
  /// What the types of its files make of it.
  package let kind: AttachmentKind
  /// The files it announces.
  package let files: [String]
  /// What its sender tells it by, where it is a media message.
  package var muid: String?
}
