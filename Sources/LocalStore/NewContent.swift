import TransferModel

/// An object as its uploader describes it.
struct NewObject: Sendable {
  var reference: ObjectReference
  var settable: SettableMetadata
  /// Bytes.
  var size: Int64
  /// Lower-case hexadecimal, where computed.
  var sha256: String?
}

/// A channel's file as its sender describes it.
struct NewFile: Sendable {
  var channel: String
  var name: String
  var contentType: String?
  /// Bytes.
  var size: Int64
  /// Lower-case hexadecimal, where computed.
  var sha256: String?
}
