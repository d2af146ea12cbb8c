internal import Crypto
internal import JSON
internal import TransferModel

/// The options that every transfer's method takes.
struct TransferOptions: Sendable {
  var transferID: TransferID
  /// Whether the host chose the id.
  var isChosen: Bool
  /// Whether the reply comes at once.
  var isDetached: Bool
  var reportsProgress: Bool
  /// The parameters in canonical form, without what does not change their meaning.
  var canonical: RawJSON

  /// Reads the options; the host of a stream must know the id before the reply comes.
  init(_ fields: inout JSONFields, isStream: Bool) throws(JSONError) {
    let chosen = try fields.optionalString("transferId")
    isDetached = try fields.bool("detach", default: false)
    reportsProgress = try fields.bool("progress", default: true)
    if isStream, chosen == nil, !isDetached {
      throw fields.error(
        "transferId",
        "is required for a stream (or detach: true), to name it in stream/… calls"
      )
    }
    let bytes = try JSON.canonical(
      fields.object,
      excluding: ["detach", "progress", "data", "text"]
    )
    canonical = RawJSON(validated: bytes)
    guard let id = TransferID(chosen ?? RandomID.make()) else {
      throw fields.error(
        "transferId",
        "must be 1 to 128 characters, none of them a control character"
      )
    }
    transferID = id
    isChosen = chosen != nil
  }
}
