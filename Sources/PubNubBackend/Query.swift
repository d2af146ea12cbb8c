internal import Backends
internal import TransferModel

/// Parameters of a request to PubNub.
struct Query {
  private(set) var items: [QueryParameter] = []

  /// Adds a parameter; nothing for nil.
  mutating func add(_ name: String, _ value: String?) {
    if let value { items.append(QueryParameter(name, value)) }
  }

  /// Adds what a host wants sent too.
  /// - Throws: `ERR_INVALID_ARGUMENT` for names that are ferry's own.
  mutating func add(_ extra: [QueryParameter]) throws(TransferError) {
    for item in extra {
      guard !item.name.isEmpty, !Self.reserved.contains(item.name),
        !items.contains(where: { $0.name == item.name })
      else {
        throw TransferError(
          .invalidArgument,
          "query: \"\(item.name.prefix(64))\" is set by ferry itself; leave it out.",
          field: "/query"
        )
      }
      items.append(item)
    }
  }

  /// Encoded and sorted by name, as it is signed; all of it is ASCII.
  var encoded: String {
    items.map { (Self.encode($0.name), Self.encode($0.value)) }
      .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
      .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
  }

  /// As PubNub computes it for signatures: `~` goes too.
  static func encode(_ text: String) -> String {
    PercentEncoding.component(text).replacing("~", with: "%7E")
  }

  private static let reserved: Set = [
    "uuid", "pnsdk", "auth", "timestamp", "signature", "meta", "store", "ttl", "norep",
    "custom_message_type",
  ]
}
