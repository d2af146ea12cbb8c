package import TransferModel

/// Which types of files may be sent: the lists `allowedTypes` and `blockedTypes`.
///
/// An entry with a slash is a MIME type, `image/*` stands for all of a kind; any other is an
/// extension, with or without its dot (`png`, `.PNG`, `tar.gz`). Case and surrounding spaces do not
/// count. Blocked beats allowed; an empty allowed list allows any type.
package struct TypePolicy: Sendable, Equatable {
  private let allowed: [Entry]
  private let blocked: [Entry]

  /// Takes the lists as configured.
  package init(allowed: [String] = [], blocked: [String] = []) {
    self.allowed = allowed.map(Entry.init)
    self.blocked = blocked.map(Entry.init)
  }

  /// Checks a file by its name and its type.
  ///
  /// Blocked is judged by the declared type and by the one the name stands for, so that neither
  /// can hide the other; allowed by the declared one, or by the name where none is declared.
  ///
  /// - Throws: `ERR_FILE_TYPE_BLOCKED`.
  package func check(name: String, contentType: String?) throws(TransferError) {
    let file = Self.plain(name)
    let named = ContentType.ofName(file)
    let declared = contentType.map(Self.mimeType)
    if let entry = blocked.first(where: { entry in
      entry.matches(name: file) || [declared, named].contains { entry.matches(type: $0) }
    }) {
      throw refused(
        name,
        declared ?? named,
        "'\(entry.text)' is in blockedTypes (\(Self.list(blocked)))"
      )
    }
    let type = declared == nil || declared == ContentType.unknown ? named ?? declared : declared
    guard
      allowed.isEmpty
        || allowed.contains(where: { $0.matches(name: file) || $0.matches(type: type) })
    else {
      throw refused(name, type, "allowedTypes has only \(Self.list(allowed))")
    }
  }

  private func refused(_ name: String, _ type: String?, _ why: String) -> TransferError {
    TransferError(
      .fileTypeBlocked,
      "'\(TransferError.shown(name))' (\(type ?? ContentType.unknown)) is of a type that may not be "
        + "sent: \(why). Send another type, or change the list."
    )
  }

  private static func list(_ entries: [Entry]) -> String {
    entries.map(\.text).joined(separator: ", ")
  }

  /// A name as other systems see it: they drop dots and spaces at the end.
  private static func plain(_ name: String) -> String {
    let end = UInt8(ascii: ".")
    var bytes = name.lowercased().utf8[...]
    while let last = bytes.last, last == end || last <= UInt8(ascii: " ") { bytes.removeLast() }
    return String(Substring(bytes))
  }

  /// A MIME type without its parameters.
  private static func mimeType(_ text: String) -> String {
    trimmed(text.prefix { $0 != ";" }).lowercased()
  }

  fileprivate static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0.isWhitespace }
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }

  /// One line of a list.
  private struct Entry: Sendable, Equatable {
    let text: String
    /// Lower case, without the spaces, the dot and the star around it.
    private let pattern: String
    private let kind: Kind

    private enum Kind { case fileExtension, type, typePrefix, anything }

    init(_ text: String) {
      let plain = TypePolicy.trimmed(text[...]).lowercased()
      self.text = String(TypePolicy.trimmed(text[...]))
      if plain == "*" || plain == "*/*" {
        (kind, pattern) = (.anything, plain)
      } else if plain.hasSuffix("/*") {
        (kind, pattern) = (.typePrefix, String(plain.dropLast()))
      } else if plain.contains("/") {
        (kind, pattern) = (.type, TypePolicy.mimeType(plain))
      } else {
        let name = plain.drop { $0 == "*" }
        (kind, pattern) = (.fileExtension, name.hasPrefix(".") ? String(name) : "." + name)
      }
    }

    func matches(name: String) -> Bool {
      kind == .anything || kind == .fileExtension && name.hasSuffix(pattern)
    }

    func matches(type: String?) -> Bool {
      guard let type else { return kind == .anything }
      return switch kind {
      case .anything: true
      case .type: type == pattern
      case .typePrefix: type.hasPrefix(pattern)
      case .fileExtension: false
      }
    }
  }
}
