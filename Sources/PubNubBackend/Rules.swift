internal import Backends
internal import TransferModel

/// What PubNub takes, looked at before it is asked.
enum Rules {
  /// The most bytes of the URL of an announcement or a subscription, after escaping.
  static let urlBytes = 32 << 10
  /// The most entries of a page.
  static let pageEntries = 100

  /// 1 to 92 characters (code points, as PubNub counts them) without those that it splits names at.
  static func check(channel: String, field: String = "/channel") throws(TransferError) {
    let isSound =
      (1...92).contains(channel.unicodeScalars.count)
      && channel.unicodeScalars.allSatisfy {
        $0.value > 32 && $0.value != 127 && !",/\\*:".unicodeScalars.contains($0)
      }
    guard isSound else {
      throw TransferError(
        .invalidArgument,
        "\"\(channel.prefix(100))\" is no channel of PubNub: 1 to 92 characters, none of them "
          + "space, control, comma, /, \\, * or :.",
        field: field
      )
    }
  }

  /// What can be listened to beside channels: all below a prefix (`a.*`), and presence.
  static func check(subscription: String, field: String) throws(TransferError) {
    let name = subscription.hasSuffix(".*") ? String(subscription.dropLast(2)) : subscription
    try check(channel: name == "" ? subscription : name, field: field)
  }

  /// Groups may be of a namespace (`namespace:group`).
  static func check(group: String) throws(TransferError) {
    try check(
      channel: String(String.UnicodeScalarView(group.unicodeScalars.filter { $0 != ":" })),
      field: "/groups"
    )
  }

  static func check(name: String) throws(TransferError) {
    guard !name.isEmpty, name.unicodeScalars.allSatisfy({ $0.value >= 32 }) else {
      throw TransferError(
        .invalidArgument,
        "A file's name cannot be empty or hold control characters.",
        field: "/name"
      )
    }
  }

  static func check(id: String) throws(TransferError) {
    guard !id.isEmpty else {
      throw TransferError(.invalidArgument, "A file's id cannot be empty.", field: "/id")
    }
  }

  /// 3 to 50 of `A-Za-z0-9-_`, not starting with `-`, `_`, `pn-` or `pn_`.
  static func check(customMessageType type: String?) throws(TransferError) {
    guard let type else { return }
    let isSound =
      (3...50).contains(type.utf8.count)
      && PercentEncoding.component(type) == type
      && !type.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "~") }
      && !["-", "_", "pn-", "pn_"].contains { type.hasPrefix($0) }
    guard isSound else {
      throw TransferError(
        .invalidArgument,
        "customMessageType must be 3 to 50 of A-Z a-z 0-9 - _, not starting with -, _, pn- or pn_.",
        field: "/customMessageType"
      )
    }
  }
}
