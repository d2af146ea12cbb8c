package import TransferModel

/// What became of content that was staged.
package enum RecoveredContent: Sendable, Equatable {
  /// The index does not name it; it may still be staged.
  case nothing
  case object(ObjectMetadata)
  /// The timetoken is that of its first announcement.
  case file(SharedFile, announced: Timetoken?)
}
