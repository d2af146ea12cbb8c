/// What transfers may take: of the machine, of the remote and of the files the host can reach.
package struct Limits: Sendable, Equatable {
  /// Transfers that run at the same time, 1 to 64.
  package var concurrency = 4
  /// How long bytes that should move may stand still; 100 ms to 24 h.
  package var stallTimeout: Duration = .seconds(30)
  /// The largest file in bytes, at least 1; equal to it is allowed; nil: none.
  package var maxFileSize: Int64?
  /// The most files in a batch, at least 1; nil: none.
  package var maxFileCount: Int?
  /// Lower-case extensions without dot (`png`) and MIME patterns (`image/*`); empty allows any.
  package var allowedTypes: [String] = []
  /// As ``allowedTypes``, refused even where allowed.
  package var blockedTypes: [String] = []
  /// Bytes per second sent, at least 1; nil: as fast as it goes.
  package var uploadRate: Int64?
  /// Bytes per second received, at least 1; nil: as fast as it goes.
  package var downloadRate: Int64?
  /// Absolute paths of the only folders whose files may be read and written; empty: all.
  package var roots: [String] = []

  /// The built-in limits.
  package init() {}

  /// Lays the options that are given over the present ones.
  mutating func decode(_ fields: inout ConfigFields) throws(ConfigurationError) {
    concurrency = try fields.integer("concurrency", in: 1...64).map { Int($0) } ?? concurrency
    stallTimeout =
      try fields.milliseconds("stallTimeout", in: 100...86_400_000, bounds: "100ms to 24h")
      .map { .milliseconds($0) } ?? stallTimeout
    maxFileSize = try fields.clearable("maxFileSize", maxFileSize) {
      fields,
      key throws(ConfigurationError) in try fields.bytes(key)
    }
    maxFileCount = try fields.clearable("maxFileCount", maxFileCount) {
      fields,
      key throws(ConfigurationError) in
      try fields.integer(key, in: 1...1_000_000).map { Int($0) }
    }
    allowedTypes = try Self.types("allowedTypes", &fields) ?? allowedTypes
    blockedTypes = try Self.types("blockedTypes", &fields) ?? blockedTypes
    uploadRate = try fields.clearable("uploadRate", uploadRate) {
      fields,
      key throws(ConfigurationError) in try fields.bytes(key)
    }
    downloadRate = try fields.clearable("downloadRate", downloadRate) {
      fields,
      key throws(ConfigurationError) in try fields.bytes(key)
    }
    roots =
      try fields.list(
        "roots",
        element: { $0.hasPrefix("/") ? $0 : nil },
        expected: "absolute paths (starting with / or ~/)"
      ) ?? roots
    try fields.finish()
  }

  /// Extensions in any case, with or without their dot or `*.`, and MIME patterns.
  private static func types(
    _ key: String,
    _ fields: inout ConfigFields
  ) throws(ConfigurationError) -> [String]? {
    try fields.list(
      key,
      element: typePattern,
      expected: "file extensions such as png and MIME patterns such as image/*"
    )
  }

  private static func typePattern(_ text: String) -> String? {
    let text = text.lowercased().split(separator: " ").joined(separator: " ")
    let allowed = { (byte: UInt8) in byte > 0x20 && byte < 0x7F }
    guard text.utf8.allSatisfy(allowed) else { return nil }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    switch parts.count {
    case 1:
      let prefix = ["*.", "."].first(where: text.hasPrefix) ?? ""
      let name = String(text.dropFirst(prefix.count))
      return name.isEmpty || name.contains("*") ? nil : name
    case 2:
      let whole = parts[0] == "*" ? parts[1] == "*" : !parts[0].contains("*")
      let ending = parts[1] == "*" || !parts[1].contains("*")
      return whole && ending && !parts[0].isEmpty && !parts[1].isEmpty ? text : nil
    default: return nil
    }
  }

  /// Every limit by its key, in the order of the schema, as configurations write it.
  var described: [(key: String, value: String)] {
    [
      ("concurrency", "\(concurrency)"),
      ("stallTimeout", "\(stallTimeout / .milliseconds(1))ms"),
      ("maxFileSize", maxFileSize.map { "\($0)" } ?? "null"),
      ("maxFileCount", maxFileCount.map { "\($0)" } ?? "null"),
      ("allowedTypes", "[\(allowedTypes.joined(separator: ", "))]"),
      ("blockedTypes", "[\(blockedTypes.joined(separator: ", "))]"),
      ("uploadRate", uploadRate.map { "\($0)" } ?? "null"),
      ("downloadRate", downloadRate.map { "\($0)" } ?? "null"),
      ("roots", "[\(roots.joined(separator: ", "))]"),
    ]
  }
}
