internal import JSON
internal import TransferModel

/// What CometChat takes of a message, looked at before it is asked.
enum Rules {
  /// The most entries of a page.
  static let pageEntries = 100
  /// The most bytes of `data`: caption, metadata and attachments.
  static let dataBytes = 10 << 10
  /// The most characters of a whole message.
  static let messageCharacters = 65_536
  /// The most tags, and the most characters of each.
  static let tags = 25
  static let tagCharacters = 100
  /// The most characters of a muid.
  static let muidCharacters = 100

  static func check(_ message: MediaMessage, to conversation: Conversation) throws(TransferError) {
    guard message.tags.count <= tags,
      message.tags.allSatisfy({ (1...tagCharacters).contains($0.unicodeScalars.count) })
    else {
      throw TransferError(
        .invalidArgument,
        "A message of CometChat has at most \(tags) tags of 1 to \(tagCharacters) characters.",
        field: "/tags"
      )
    }
    guard (1...muidCharacters).contains(message.muid?.unicodeScalars.count ?? 1) else {
      throw TransferError(
        .invalidArgument,
        "A muid has 1 to \(muidCharacters) characters.",
        field: "/muid"
      )
    }
    let data = MessageBody.data(of: message).count
    let caption = message.caption?.utf8.count ?? 0
    guard data <= dataBytes else {
      throw TransferError(
        .invalidArgument,
        "Caption, metadata and \(message.attachments.count) attachments make \(data) bytes of a "
          + "message; CometChat takes \(dataBytes). Send less beside the files.",
        field: message.metadata?.bytes.count ?? 0 > caption ? "/metadata" : "/caption"
      )
    }
    let whole = String(decoding: MessageBody.json(of: message, to: conversation), as: UTF8.self)
    guard whole.unicodeScalars.count <= messageCharacters else {
      throw TransferError(
        .invalidArgument,
        "The message is longer than CometChat's \(messageCharacters) characters; send less of it.",
        field: "/metadata"
      )
    }
  }
}
