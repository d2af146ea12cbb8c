import Crypto
import TransferModel

/// What the name of a message's object tells, so that a list is enough to know which are wanted.
///
/// `<17 digits>-<id>`, then `-x<seconds since 1970>` where it expires and `-live` where history
/// does not keep it. The digits are what is left of the timetoken to 10^17, so that lists, which
/// rise, begin with the newest.
struct MessageKey: Sendable, Hashable, Comparable {
  /// When it was told, by the server's clock.
  var timetoken: Timetoken
  /// Tells messages of one moment apart.
  var id: String
  /// Seconds since 1970 from which it is not shown.
  var expires: Int64?
  /// Whether history keeps it.
  var isStored: Bool

  private static let end: Int64 = 99_999_999_999_999_999

  /// A new message.
  init(
    _ timetoken: Timetoken,
    id: String = RandomID.make(),
    expires: Int64? = nil,
    isStored: Bool = true
  ) {
    self.timetoken = timetoken
    self.id = id
    self.expires = expires
    self.isStored = isStored
  }

  /// Reads a name; nil for one that is no message's.
  init?(_ name: String) {
    var parts = name.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    guard parts.count >= 2, let digits = Timetoken(parts[0]), parts[0].utf8.count == 17,
      (1...64).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy(Self.isOfID)
    else { return nil }
    timetoken = Timetoken(Self.end - digits.value)
    id = parts[1]
    parts.removeFirst(2)
    isStored = parts.last != "live"
    if !isStored { parts.removeLast() }
    guard let expiry = parts.first else { return }
    guard parts.count == 1, expiry.hasPrefix("x"),
      let seconds = Timetoken(String(expiry.dropFirst()))
    else { return nil }
    expires = seconds.value
  }

  /// Below the channel's folder of messages.
  var name: String {
    Self.digits(timetoken) + "-" + id + (expires.map { "-x\($0)" } ?? "")
      + (isStored ? "" : "-live")
  }

  /// What the names of all messages of a moment begin with.
  static func prefix(of timetoken: Timetoken) -> String { digits(timetoken) + "-" }

  /// What lies in lists behind all messages of a moment, and before all that are older.
  static func mark(behind timetoken: Timetoken) -> String { digits(timetoken) + "~" }

  /// Whether it is not shown any more.
  func isExpired(atMs now: Int64) -> Bool { expires.map { $0 <= now / 1000 } ?? false }

  static func < (a: MessageKey, b: MessageKey) -> Bool {
    (a.timetoken, a.id) < (b.timetoken, b.id)
  }

  private static func digits(_ timetoken: Timetoken) -> String {
    let text = String(end - min(max(timetoken.value, 0), end))
    return String(repeating: "0", count: 17 - text.utf8.count) + text
  }

  private static func isOfID(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
  }
}
