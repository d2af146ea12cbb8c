import SQLite
import TransferModel

extension TransferError {
  /// A failure of SQLite's in a folder of the journal.
  init(_ error: SQLiteError, in folder: String) {
    let (code, why): (ErrorCode, String) =
      switch error.kind {
      case .full: (.diskFull, "the disk is full; free some space")
      case .readOnly, .cannotOpen:
        (.fileAccessDenied, "it may not be written; let this user write there")
      case .busy: (.unknown, "another program has a file open; close that program")
      case .damaged, .inputOutput, .constraint, .other:
        (.unknown, "\(error.message) (SQLite code \(error.code))")
      }
    self.init(code, "Cannot write the journal in '\(folder)': \(why).")
  }

  /// What a failure of the journal means.
  static func notKept(_ error: TransferError) -> TransferError {
    var error = error
    error.message += " Transfers go on, but those of this time may not survive a restart."
    return error
  }

  /// A journal file was set aside.
  static func damagedJournal(_ path: String, as aside: String, _ why: String) -> TransferError {
    TransferError(
      .unknown,
      "The journal file '\(path)' is damaged (\(why)) and was renamed to '\(aside)'; the transfers "
        + "in it are not remembered. Delete it, or look into it with sqlite3."
    )
  }

  /// A journal file of a later version was met.
  static func newerJournal(_ path: String, version: Int64) -> TransferError {
    TransferError(
      .unsupported,
      "The journal file '\(path)' has version \(version) and this ferry knows "
        + "\(JournalSchema.version): it was left alone. Start the newer ferry to go on with its "
        + "transfers."
    )
  }
}
