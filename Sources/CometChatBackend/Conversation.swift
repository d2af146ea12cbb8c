internal import Backends
internal import Configuration
internal import TransferModel

/// Whom a channel of CometChat is with: `user:<uid>` or `group:<guid>`.
struct Conversation: Equatable {
  /// `user` or `group`.
  var type: String
  /// As the service keeps it, in lower case.
  var receiver: String

  init(_ channel: String, field: String = "/channel") throws(TransferError) {
    let parts = channel.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let receiver = parts.last?.lowercased() ?? ""
    guard parts.count == 2, parts[0] == "user" || parts[0] == "group",
      CometChatSettings.isUser(receiver)
    else {
      throw TransferError(
        .invalidArgument,
        "\"\(channel.prefix(100))\" is no conversation of CometChat: user:UID or group:GUID, with "
          + "1 to 100 of a-z 0-9 - _.",
        field: field
      )
    }
    type = String(parts[0])
    self.receiver = receiver
  }

  var channel: String { "\(type):\(receiver)" }

  /// Below the base URL; the receiver needs no escaping.
  var messagesPath: String { "/\(type)s/\(receiver)/messages" }
}
