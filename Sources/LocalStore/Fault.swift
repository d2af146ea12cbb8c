import SQLite
import TransferModel

extension TransferError {
  /// The error a failed statement on a store's index stands for.
  init(_ error: SQLiteError, index path: String) {
    let text = "the index \(path): \(error.message)"
    self =
      switch error.kind {
      case .full: TransferError(.diskFull, text + "; make room and try again")
      case .readOnly, .cannotOpen:
        TransferError(
          .fileAccessDenied,
          text + "; let this user write there, or choose another root"
        )
      case .damaged:
        TransferError(
          .unknown,
          text + "; the file is damaged: restore it from a copy, or move the store's folder away "
            + "to begin an empty one (what is stored is left as it is)"
        )
      case .busy:
        TransferError(
          .server,
          text + "; another program holds it: close that program and try again"
        )
      case .inputOutput, .constraint, .other:
        TransferError(.unknown, "\(text) (SQLite code \(error.code))")
      }
  }
}
