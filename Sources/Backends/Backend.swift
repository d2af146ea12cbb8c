package import TransferModel

/// One transfer's conversation with a remote, as a value that performs nothing itself.
///
/// The runner asks for the next step, performs it and hands the outcome back, until `done`. A
/// backend does no I/O and reads no clock, so a whole conversation is testable as a table. What an
/// earlier process had done is not remembered but asked of the remote, by the identity that the
/// content has there.
package protocol Backend: Sendable {
  /// What to do now.
  mutating func next() -> BackendStep
  /// What came of the step before.
  mutating func receive(_ outcome: StepOutcome)
  /// Begins again after the run was thrown away; what the remote has confirmed stays done.
  mutating func restart()
  /// The file the remote has although it was not announced.
  var unannounced: SharedFile? { get }
  /// Begins where an earlier process left off: first finds out how far that one came.
  mutating func recover()
}

/// What a backend wants done.
package enum BackendStep: Sendable, Equatable {
  case local(LocalOperation)
  case done(TransferResult)
}

/// A step on the embedded remote's disk.
package enum LocalOperation: Sendable, Equatable {
  /// Find out what became of the content that an earlier process staged.
  case recover
  /// Make room for content that nobody sees yet.
  case stage
  /// Move the source's bytes there, from where they stand to the end.
  case fill
  /// Make it an object.
  case publishObject(ObjectReference, SettableMetadata, WriteCondition)
  /// Make it a file of a channel.
  case publishFile(channel: String, name: String, contentType: String)
  /// Tell the channel's subscribers.
  case announce(Announcement)
  /// Find stored content.
  case openObject(ObjectReference, ByteRange?)
  case openFile(FileLocator)
  /// Move it to the target, from where it stands to the end, verify it and put it in place.
  case deliver
}

/// What came of a step; failures end the run and do not come back here.
package enum StepOutcome: Sendable, Equatable {
  case recovered(Recovered)
  case staged
  case filled
  case objectPublished(ObjectMetadata, url: String)
  case filePublished(SharedFile, url: String)
  case announced(Timetoken)
  case opened(ObjectMetadata?)
  case delivered(TransferResult.Download)
}

/// How far an earlier process came with an upload.
package enum Recovered: Sendable, Equatable {
  /// Nothing of it is left.
  case nothing
  /// The content is staged, in part or in whole.
  case staged
  case objectPublished(ObjectMetadata, url: String)
  /// The file is there; the timetoken where it was announced too.
  case filePublished(SharedFile, url: String, announced: Timetoken?)
}
