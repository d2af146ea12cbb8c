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
    canonical = try Self.canonical(fields.object)
    guard let id = TransferID(chosen ?? RandomID.make()) else {
      throw fields.error(
        "transferId",
        "must be 1 to 128 characters, none of them a control character"
      )
    }
    transferID = id
    isChosen = chosen != nil
  }

  /// What is written down to tell requests apart and to begin again after a restart.
  ///
  /// Of a key only that there was one stays: an empty one, with which nothing is sent or fetched.
  private static func canonical(_ params: JSONNode) throws(JSONError) -> RawJSON {
    var bytes = try JSON.canonical(
      params,
      excluding: ["detach", "progress", "data", "text", "cipherKey"]
    )
    if let key = try params.members().first(where: { $0.key == "cipherKey" }), !key.value.isNull {
      bytes.removeLast()
      if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
      bytes += Array("\"cipherKey\":\"\"}".utf8)
    }
    return RawJSON(validated: bytes)
  }
}
