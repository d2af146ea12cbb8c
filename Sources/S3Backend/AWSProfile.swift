package import Configuration
import Glibc
import TransferModel

/// Where AWS's own tools look for keys and a region: their variables, then their two files.
package struct AWSProfile: Sendable {
  private let environment: [String: String]
  private let profile: String?
  private let read: @Sendable (String) -> [UInt8]?

  /// Reads nothing yet.
  ///
  /// - Parameters:
  ///   - environment: the process's variables.
  ///   - profile: the one the configuration names; it then beats the variables that hold keys, as
  ///     with AWS's own tools.
  ///   - read: the bytes of a file; nil where there is none.
  package init(
    environment: [String: String],
    profile: String?,
    read: @escaping @Sendable (String) -> [UInt8]? = AWSProfile.readFile
  ) {
    self.environment = environment
    self.profile = profile
    self.read = read
  }

  /// The keys there are now; nil where there are none.
  package func credentials() -> S3Settings.Credentials? {
    if profile == nil, let id = variable("AWS_ACCESS_KEY_ID"),
      let key = variable("AWS_SECRET_ACCESS_KEY")
    {
      return Self.credentials(id, key, variable("AWS_SESSION_TOKEN"))
    }
    guard let path = variable("AWS_SHARED_CREDENTIALS_FILE") ?? inHome("/.aws/credentials"),
      let section = section(profileName, of: path),
      let id = section["aws_access_key_id"], let key = section["aws_secret_access_key"]
    else { return nil }
    return Self.credentials(id, key, section["aws_session_token"])
  }

  /// The region there is now; nil where none is named.
  package func region() -> String? {
    if let region = variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") { return region }
    guard let path = variable("AWS_CONFIG_FILE") ?? inHome("/.aws/config") else { return nil }
    let name = profileName == "default" ? "default" : "profile \(profileName)"
    return section(name, of: path)?["region"]
  }

  /// The profile whose sections are read.
  package var profileName: String { profile ?? variable("AWS_PROFILE") ?? "default" }

  private static func credentials(
    _ id: String,
    _ key: String,
    _ token: String?
  ) -> S3Settings.Credentials? {
    // What cannot be part of a header cannot be a key.
    let all = [id, key, token ?? "-"]
    guard all.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { $0 > 32 && $0 < 127 } }) else {
      return nil
    }
    return .init(
      accessKeyID: Secret(id),
      secretAccessKey: Secret(key),
      sessionToken: token.map { Secret($0) }
    )
  }

  private func variable(_ name: String) -> String? {
    environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  private func inHome(_ path: String) -> String? { variable("HOME").map { $0 + path } }

  /// The keys below `[name]`; nil where there is no such section.
  private func section(_ name: String, of path: String) -> [String: String]? {
    guard let bytes = read(path) else { return nil }
    var found: [String: String]?
    var isInside = false
    for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
      let text = Self.trimmed(line)
      if text.hasPrefix("[") {
        isInside = Self.trimmed(text.dropFirst().prefix { $0 != "]" }) == name
        if isInside { found = found ?? [:] }
        continue
      }
      // An indented line belongs to the one above, which is none of ours.
      guard isInside, !text.hasPrefix("#"), !text.hasPrefix(";"), line.first?.isWhitespace == false,
        let equals = text.firstIndex(of: "=")
      else { continue }
      let key = Self.trimmed(text[..<equals]).lowercased()
      found?[key] = String(Self.trimmed(text[text.index(after: equals)...]))
    }
    return found
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let start = text.drop { $0.isWhitespace }
    guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return start[...last]
  }

  /// The first 1 MiB of a file; nil where it cannot be read.
  package static func readFile(_ path: String) -> [UInt8]? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    return [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
      count = fread(buffer.baseAddress, 1, buffer.count, file)
    }
  }
}
