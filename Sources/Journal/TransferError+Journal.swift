import SQLite
import TransferModel

extension TransferError {
  /// A failure to keep or read what must survive.
  init(_ error: SQLiteError, journalIn folder: String) {
    let (code, why): (ErrorCode, String) =
      switch error.kind {
      case .full: (.diskFull, "the disk is full; free some space")
      case .readOnly, .cannotOpen:
        (.fileAccessDenied, "it may not be written; let this user write there or set stateDir")
      case .busy: (.unknown, "another program has it open; close that program")
      case .damaged, .inputOutput, .constraint, .other:
        (.unknown, "\(error.message) (SQLite code \(error.code))")
      }
    self = .untilRestart(code, folder, why)
  }

  /// The same for what is no failure of SQLite's.
  init(_ error: TransferError, journalIn folder: String) {
    self = .untilRestart(error.code, folder, error.message)
  }

  private static func untilRestart(
    _ code: ErrorCode,
    _ folder: String,
    _ why: String
  ) -> TransferError {
    TransferError(
      code,
      "The journal in '\(folder)' does not keep all transfers: \(why). Transfers go on, but those "
        + "begun meanwhile do not survive a restart."
    )
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
