package import Crypto
package import TransferModel

/// One transfer's conversation with a remote, as a value that performs nothing itself.
///
/// The runner asks for the next step, performs it and hands the outcome back, until `done`. A
/// backend does no I/O and reads no clock, so a whole conversation is testable as a table.
package protocol Backend: Sendable {
  /// What to do now.
  ///
  /// Exchanges over HTTP are begun and the next step is asked for at once, up to `width` of them
  /// at the same time; every other step is performed first.
  mutating func next() -> BackendStep
  /// What came of a step.
  mutating func receive(_ outcome: StepOutcome)
  /// The most exchanges at the same time; at least 1.
  var width: Int { get }
  /// Bytes of the content that are moved for good; those of exchanges under way not counted.
  var settled: Int64 { get }
  /// What a later process needs to go on, as UTF-8 text; nil while it would begin anew.
  var checkpoint: [UInt8]? { get }
  /// What removes all that is half-made on the remote, for when nobody will go on.
  var cleanUp: [HTTPRequest] { get }
  /// Begins again after the run was thrown away; what the remote has confirmed stays done.
  mutating func restart()
  /// The file the remote has although it was not announced.
  var unannounced: SharedFile? { get }
  /// Begins where an earlier process left off, of which this is the checkpoint: first finds out how
  /// far that one came.
  mutating func recover(_ checkpoint: [UInt8]?)
}

extension Backend {
  /// One step after the other.
  package var width: Int { 1 }
  /// Nothing: the remote is asked, by the identity that the content has there.
  package var checkpoint: [UInt8]? { nil }
  /// Nothing.
  package var cleanUp: [HTTPRequest] { [] }
  /// Nothing.
  package var unannounced: SharedFile? { nil }
}

/// What a backend wants done.
package enum BackendStep: Sendable, Equatable {
  case local(LocalOperation)
  case content(ContentOperation)
  case http(HTTPExchange)
  /// Nothing before one of the exchanges under way is answered.
  case idle
  case done(TransferResult)
  case fail(TransferError)
}

/// A request as a step of a transfer.
package struct HTTPExchange: Sendable, Equatable {
  /// Tells this exchange's answer from those of others under way.
  package var id: Int
  /// What is sent.
  package var request: HTTPRequest
  /// Where the transfer stands meanwhile.
  ///
  /// In `finish` and `publish` all bytes are moved, and the remote's word is awaited.
  package var phase: TransferError.Phase
  /// How long to wait before it is sent.
  package var delay: Duration
  /// Whether the backend hears of its failure, and decides what follows; otherwise that ends the
  /// run.
  package var tellsFailure: Bool
  /// Whether it goes on for a moment once the transfer is stopped: what it makes on the remote can
  /// be removed only by who has its answer.
  package var outlivesStop: Bool

  /// Makes an exchange.
  package init(
    id: Int = 0,
    _ request: HTTPRequest,
    phase: TransferError.Phase,
    delay: Duration = .zero,
    tellsFailure: Bool = false,
    outlivesStop: Bool = false
  ) {
    self.id = id
    self.request = request
    self.phase = phase
    self.delay = delay
    self.tellsFailure = tellsFailure
    self.outlivesStop = outlivesStop
  }
}

/// A step on the host's side that transfers over HTTP have in common.
package enum ContentOperation: Sendable, Equatable {
  /// Open the source, so that its size is known; a stream is written to a file first.
  case openSource
  /// Go on with the ciphertext of the source in its place, whose size is then known.
  case encryptSource(ContentCipher)
  /// Make sure that the source is still the one that was opened.
  case verifySource
  /// Open the target, or take up the part of it that an earlier process left; one that had put it in
  /// place has finished it.
  case openTarget(IncomingContent)
  /// Write bytes to the target; targets other than files take them in order only.
  case write([UInt8], at: Int64)
  /// Compare the target with what is known of the content, and put it in place.
  case finishTarget
  /// Keep the checkpoint, and go on once it is kept.
  case remember
}

/// What the source of an upload is.
package struct OutgoingContent: Sendable, Equatable {
  /// Bytes.
  package var size: Int64
  /// Lower-case hexadecimal, where it is known before the content was read.
  package var sha256: String?
  /// Changes when the source does.
  package var identity: String

  /// Describes a source.
  package init(size: Int64, sha256: String? = nil, identity: String) {
    self.size = size
    self.sha256 = sha256
    self.identity = identity
  }
}

/// What a download will bring.
package struct IncomingContent: Sendable, Equatable {
  /// Bytes that go to the target; nil where the remote does not say.
  package var size: Int64?
  /// What the remote calls it: never used as a path unchecked.
  package var name: String
  /// Changes when the remote's content does, such as an ETag.
  package var identity: String
  /// Lower-case hexadecimal, of all that goes to the target, where known.
  package var sha256: String?
  /// Lower-case hexadecimal, of all that goes to the target, where known.
  package var md5: String?
  /// What all that is written to the target is decrypted with on the way; it then comes in order,
  /// from the start, through `write`, and `size` is the ciphertext's.
  package var cipher: ContentCipher?

  /// Describes content.
  package init(
    size: Int64?,
    name: String,
    identity: String,
    sha256: String? = nil,
    md5: String? = nil,
    cipher: ContentCipher? = nil
  ) {
    self.cipher = cipher
    self.size = size
    self.name = name
    self.identity = identity
    self.sha256 = sha256
    self.md5 = md5
  }
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
  case sourceOpened(OutgoingContent)
  case sourceVerified
  /// Whether the part that an earlier process left was of the same content and is gone on with;
  /// which of its bytes are there is for the checkpoint to know.
  case targetOpened(isKept: Bool)
  case written
  case targetFinished(TransferResult.Download)
  case remembered
  case answered(id: Int, HTTPResponse)
  /// The exchange failed, and asked to be told so.
  case failed(id: Int, TransferError)
  /// The exchange was stopped by a pause; what it was for is still to be done.
  case interrupted(id: Int)
}

extension StepOutcome {
  /// The case's name alone, for messages: what it carries may be secret or long.
  package var name: String { Mirror(reflecting: self).children.first?.label ?? "\(self)" }
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
