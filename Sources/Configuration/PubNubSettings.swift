package import TransferModel

/// What reaching a keyset of PubNub needs.
package struct PubNubSettings: Sendable, Equatable {
  /// Names the keyset to those who announce; nil where nothing is announced.
  package var publishKey: String?
  /// Names the keyset.
  package var subscribeKey: String
  /// Signs every request; for servers only.
  package var secretKey: Secret?
  /// Who this is, shown to subscribers.
  package var userID: String
  /// Of the access manager.
  package var authToken: Secret?
  /// Scheme, host and port in lower case.
  package var origin = Self.defaultOrigin
  /// How often an announcement is tried in all before the file is left unannounced, 1 to 20.
  package var publishRetryLimit = 5
  /// How files and messages are encrypted; nil: not at all.
  package var crypto: Crypto?
  /// What all remotes over HTTP can be told.
  package var http = HTTPSettings()

  /// PubNub itself.
  package static let defaultOrigin = "https://ps.pndsn.com"
  /// What PubNub takes of a file unless its support has raised it: bytes as they are stored.
  package static let maxFileSize: Int64 = 5_242_880

  /// Makes settings; everything that is not given is left to ferry.
  package init(publishKey: String?, subscribeKey: String, userID: String) {
    self.publishKey = publishKey
    self.subscribeKey = subscribeKey
    self.userID = userID
  }

  /// How files and messages are encrypted.
  package struct Crypto: Sendable, Equatable {
    /// What the keys are derived from.
    package var cipherKey: Secret
    /// What is written; both are read.
    package var module = Module.aesCbc
    /// Whether the older form has a random initialisation vector.
    package var randomIV = true

    /// Encrypts with a key, in the present form.
    package init(cipherKey: Secret) { self.cipherKey = cipherKey }

    /// The forms of PubNub's SDKs.
    package enum Module: String, Sendable, CaseIterable {
      case aesCbc, legacy
    }
  }
}

extension PubNubSettings {
  /// Where the files are, for people, without secrets.
  package var place: String {
    "keyset \(subscribeKey) at \(origin)\(crypto == nil ? "" : ", encrypted")"
  }

  /// Decodes the keys of kind pubnub.
  init(
    remote: String,
    _ fields: inout ConfigFields,
    isMissing: () -> Bool
  ) throws(ConfigurationError) {
    func key(_ name: String) throws(ConfigurationError) -> String? {
      try fields.parsed(name, expected: Self.keyExpected) { Self.isKey($0) ? $0 : nil }
    }
    func secret(_ name: String) throws(ConfigurationError) -> Secret? {
      // The value is not quoted by the error.
      try fields.parsed(name, expected: "printable characters without spaces", isSecret: true) {
        !$0.isEmpty && $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? Secret($0) : nil
      }
    }
    let publishKey = try key("publishKey")
    let subscribeKey = try key("subscribeKey")
    let userID = try fields.parsed("userId", expected: "1 to 92 characters, not all of them spaces")
    {
      // Code points, as PubNub counts them.
      (1...92).contains($0.unicodeScalars.count) && $0.contains { !$0.isWhitespace } ? $0 : nil
    }
    for (name, value) in [("subscribeKey", subscribeKey), ("userId", userID)]
    where value == nil && !isMissing() {
      throw fields.lacking(name, "remote \"\(remote)\" has no \(name); add it")
    }
    self.init(publishKey: publishKey, subscribeKey: subscribeKey ?? "", userID: userID ?? "")
    secretKey = try secret("secretKey")
    authToken = try secret("authToken")
    origin =
      try fields.parsed("origin", expected: S3Settings.endpointExpected, S3Settings.origin)
      ?? origin
    publishRetryLimit =
      try fields.integer("publishRetryLimit", in: 1...20).map { Int($0) } ?? publishRetryLimit
    crypto = try Self.crypto(remote: remote, &fields, isMissing: isMissing)
    http = try HTTPSettings(&fields)
    guard secretKey == nil || publishKey != nil || isMissing() else {
      throw fields.lacking(
        "publishKey",
        "remote \"\(remote)\" has a secretKey and no publishKey, which is signed too; add it"
      )
    }
  }

  private static func crypto(
    remote: String,
    _ fields: inout ConfigFields,
    isMissing: () -> Bool
  ) throws(ConfigurationError) -> Crypto? {
    guard let node = fields.node("crypto"), !node.isNull else { return nil }
    var own = try fields.fields("crypto", section: "crypto")
    let cipherKey = try own.parsed(
      "cipherKey",
      expected: "a value that is not empty",
      isSecret: true
    ) { $0.isEmpty ? nil : Secret($0) }
    var crypto = Crypto(cipherKey: cipherKey ?? Secret(""))
    crypto.module = try own.choice("module", of: Crypto.Module.self) ?? crypto.module
    crypto.randomIV = try own.boolean("randomIV") ?? crypto.randomIV
    try own.finish()
    // Without its key everything would go out unencrypted.
    guard cipherKey != nil || isMissing() else {
      throw own.lacking(
        "cipherKey",
        "crypto of remote \"\(remote)\" has no cipherKey; add it, or remove crypto to send "
          + "everything unencrypted"
      )
    }
    return crypto
  }

  private static let keyExpected = "letters, digits and hyphens, as PubNub's portal shows it"

  private static func isKey(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}
