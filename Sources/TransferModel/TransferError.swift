/// What went wrong, in the one shape every room throws and every error reply carries.
///
/// `code` is the contract; `message` is for people and says what failed, on what, and what to do.
/// Never put a key, a token or a signed URL into any field.
package struct TransferError: Error, Sendable, Equatable {
  /// The closed list of failures; equal to the schema's list.
  package var code: ErrorCode
  /// What failed and what to do about it, for people.
  package var message: String
  /// Where in a transfer it happened.
  package var phase: Phase?
  /// Overrides the code's own advice on whether trying again unchanged can help.
  package var retryableOverride: Bool?
  /// How long to wait before trying again, in milliseconds.
  package var retryAfterMs: Int64?
  /// The status of the HTTP answer that caused it.
  package var httpStatus: Int?
  /// Whether a request that got no answer may have reached the remote whole, and so have been
  /// obeyed; nil where there was none.
  ///
  /// Not told to hosts.
  package var mayHaveArrived: Bool?
  /// The remote's own code.
  package var serverCode: String?
  /// The remote's own words, redacted, at most 1 KiB.
  package var serverMessage: String?
  /// What kind of id is unknown, or which argument is wrong (a JSON pointer).
  package var field: String?
  /// The failure below this one.
  package var cause: Cause?
  /// The protocol versions that could have been asked for.
  package var supported: [Int]?
  /// Whether the bytes were stored although the whole failed (file/send).
  package var fileUploaded: Bool?
  /// Id of a file that was stored but not announced.
  package var fileID: String?
  /// Name of a file that was stored but not announced.
  package var fileName: String?
  /// The messages that were sent before it (batch/send).
  package var sent: SentMessages?

  /// The part of a failure below that is worth telling.
  package struct Cause: Sendable, Equatable {
    /// The code the failure below would have had alone.
    package var code: ErrorCode
    /// The status of its HTTP answer.
    package var httpStatus: Int?

    /// Makes a cause from the code below and, where HTTP was spoken, its status.
    package init(code: ErrorCode, httpStatus: Int? = nil) {
      self.code = code
      self.httpStatus = httpStatus
    }
  }

  /// The step of a transfer or call in which it failed.
  package enum Phase: String, Sendable, CaseIterable {
    case prepare, upload, finish, publish, download, list, delete, subscribe
  }

  /// Makes an error; everything else is set on the value.
  package init(
    _ code: ErrorCode,
    _ message: String,
    phase: Phase? = nil,
    field: String? = nil
  ) {
    self.code = code
    self.message = message
    self.phase = phase
    self.field = field
  }

  /// Whether trying again unchanged can help.
  package var isRetryable: Bool { retryableOverride ?? code.isRetryable }

  /// Whether a transfer was refused before its first byte, so that the request itself must change.
  package var rejects: Bool {
    // A place in the storage that was refused, not one that could not be asked for.
    phase == .prepare && (code.rejects || code == .presignedURLFailed && !isRetryable)
  }

  /// The same error, placed in a phase unless it has one already.
  package func during(_ phase: Phase) -> TransferError {
    var error = self
    error.phase = self.phase ?? phase
    return error
  }
}
