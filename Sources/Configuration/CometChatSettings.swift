package import TransferModel

/// What reaching an app of CometChat needs.
package struct CometChatSettings: Sendable, Equatable {
  /// Names the app.
  package var appID: String
  /// Who asks.
  package var access: Access
  /// Where the app is asked: scheme, host, port and path, without a slash at the end.
  package var baseURL: String
  /// What all remotes over HTTP can be told.
  package var http = HTTPSettings()

  /// What proves who asks, which decides which of CometChat's two interfaces is asked.
  package enum Access: Sendable, Equatable {
    /// A user's own token, as their apps have it.
    case user(authToken: Secret)
    /// A key of the REST API, for servers only, in the name of a user.
    case server(apiKey: Secret, onBehalfOf: String)
  }

  /// What CometChat takes of a file where its settings do not say, in bytes.
  package static let maxFileSize: Int64 = 104_857_600
  /// The files of a message where its settings do not say.
  package static let maxFileCount = 10

  /// Makes settings.
  package init(appID: String, access: Access, baseURL: String) {
    self.appID = appID
    self.access = access
    self.baseURL = baseURL
  }
}

extension CometChatSettings {
  /// Where the files are, for people, without secrets.
  package var place: String {
    switch access {
    case .user: "app \(appID) at \(baseURL)"
    case .server(_, let user): "app \(appID) at \(baseURL), for \(user)"
    }
  }

  /// Decodes the keys of kind cometchat.
  init(
    remote: String,
    _ fields: inout ConfigFields,
    isMissing: () -> Bool
  ) throws(ConfigurationError) {
    let appID = try fields.parsed("appId", expected: "letters and digits, as CometChat shows it") {
      Self.isName($0) ? $0 : nil
    }
    let region = try fields.parsed("region", expected: "a region such as us, eu or in") {
      Self.isName($0) ? $0.lowercased() : nil
    }
    let authToken = try Self.secret("authToken", &fields)
    let apiKey = try Self.secret("apiKey", &fields)
    let user = try fields.parsed("onBehalfOf", expected: Self.userExpected) {
      // The service folds case, so one user has one spelling here.
      Self.isUser($0.lowercased()) ? $0.lowercased() : nil
    }
    let clientBase = try fields.parsed("clientBaseUrl", expected: Self.baseExpected, Self.base)
    let apiBase = try fields.parsed("apiBaseUrl", expected: Self.baseExpected, Self.base)
    let http = try HTTPSettings(&fields)
    func require(_ isThere: Bool, _ key: String, _ advice: String) throws(ConfigurationError) {
      guard isThere || isMissing() else {
        throw fields.lacking(key, "remote \"\(remote)\" \(advice)")
      }
    }
    try require(appID != nil, "appId", "has no appId; add it")
    try require(
      (authToken == nil) != (apiKey == nil),
      "authToken",
      "needs either authToken (of a user) or apiKey (of a server) with onBehalfOf"
    )
    try require(
      (apiKey == nil) == (user == nil),
      "onBehalfOf",
      "needs apiKey and onBehalfOf together: a server acts for a user"
    )
    let own = apiKey == nil ? clientBase : apiBase
    try require(own != nil || region != nil, "region", "has no region; add it")
    let host = apiKey == nil ? "apiclient" : "api"
    let version = apiKey == nil ? "v3.0" : "v3"
    self.init(
      appID: appID ?? "",
      access: apiKey.map { .server(apiKey: $0, onBehalfOf: user ?? "") }
        ?? .user(authToken: authToken ?? Secret("")),
      baseURL: own
        ?? "https://\(appID ?? "").\(host)-\(region ?? "").cometchat.io/\(version)"
    )
    self.http = http
  }

  private static func secret(
    _ name: String,
    _ fields: inout ConfigFields
  ) throws(ConfigurationError) -> Secret? {
    // The value is not quoted by the error.
    try fields.parsed(name, expected: "printable characters without spaces", isSecret: true) {
      !$0.isEmpty && $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? Secret($0) : nil
    }
  }

  private static let baseExpected = "an https:// or http:// URL without query"
  private static let userExpected = "1 to 100 of a-z 0-9 - _"

  private static func base(_ text: String) -> String? {
    let rest = text.lowercased()
    guard let scheme = ["https://", "http://"].first(where: rest.hasPrefix),
      text.utf8.count > scheme.utf8.count,
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"?#@\"".utf8.contains($0) })
    else { return nil }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  private static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.lowercased().utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) }
  }

  /// Whether a text names a user or a group.
  package static func isUser(_ text: String) -> Bool {
    (1...100).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        (97...122).contains($0) || (48...57).contains($0) || "-_".utf8.contains($0)
      }
  }
}
