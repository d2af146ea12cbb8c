package import TransferModel

/// What all remotes that are spoken to over HTTP can be told.
package struct HTTPSettings: Sendable, Equatable {
  /// The absolute path of a file of certificates in PEM that are trusted too.
  package var caFile: String?
  /// Whom to ask instead of the remote itself.
  package var proxy = ProxyChoice.environment
  /// How often a request that may succeed later is sent again, 0 to 10.
  package var retries = 4

  /// The built-in values.
  package init() {}

  /// Reads the keys that such remotes have in common.
  init(_ fields: inout ConfigFields) throws(ConfigurationError) {
    caFile = try fields.path("caFile")
    proxy =
      try fields.parsed("proxy", expected: ProxyChoice.expected, isSecret: true) {
        ProxyChoice($0)
      } ?? proxy
    retries = try fields.integer("retries", in: 0...10).map { Int($0) } ?? retries
  }
}

/// The proxy of a remote.
package enum ProxyChoice: Sendable, Equatable {
  /// As `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy` say.
  case environment
  case none
  /// A URL, which may hold a password.
  case url(Secret)

  static let expected =
    "none, or a URL that starts with http://, https://, socks5:// or socks5h://"

  init?(_ text: String) {
    if text == "none" {
      self = .none
      return
    }
    let schemes = ["http://", "https://", "socks5://", "socks5h://"]
    guard let scheme = schemes.first(where: text.hasPrefix), text.utf8.count > scheme.utf8.count,
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { return nil }
    self = .url(Secret(text))
  }
}
