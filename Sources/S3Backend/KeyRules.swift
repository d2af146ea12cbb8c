import TransferModel

/// Which names a bucket can hold without two of them becoming one object.
enum KeyRules {
  /// S3's own bound.
  static let longestKey = 1024

  /// Whether a name needs the provider to be known before it is used: some keep it, some do not.
  static func isDelicate(_ key: String) -> Bool {
    key.utf8.contains(UInt8(ascii: "\\"))
      || key.utf8.split(separator: slash).contains(where: isDots)
      || key.utf8.split(separator: slash).contains { $0.count > 255 }
  }

  /// Refuses a key that no server takes, or that the provider would alias to another.
  ///
  /// - Parameters:
  ///   - key: with the prefix, in the form of a reference: no empty component.
  ///   - provider: nil while it is not known, when only what all refuse is refused.
  /// - Throws: `ERR_INVALID_REFERENCE`.
  static func check(_ key: String, for provider: Provider?) throws(TransferError) {
    guard key.utf8.count <= longestKey else {
      throw refused(
        "The key \"\(key.prefix(64))…\" has \(key.utf8.count) bytes, and S3 takes at most "
          + "\(longestKey), prefix included: choose a shorter name."
      )
    }
    guard !key.utf8.contains(0) else { throw refused("A key cannot hold the character NUL.") }
    guard let provider else { return }
    let components = key.utf8.split(separator: slash)
    if !provider.keepsBackslashes, key.utf8.contains(UInt8(ascii: "\\")) {
      throw refused(
        "\(key) holds a backslash, which \(provider.title) may take for a slash: two names could "
          + "become one object. Choose a name without."
      )
    }
    if !provider.keepsDots, components.contains(where: isDots) {
      throw refused(
        "\(key) has a component . or .., which \(provider.title) does not take as a name: choose "
          + "another."
      )
    }
    if let longest = provider.longestComponent, components.contains(where: { $0.count > longest }) {
      throw refused(
        "\(key.prefix(64))… has more than \(longest) bytes between two slashes, which "
          + "\(provider.title) does not take: choose a shorter name."
      )
    }
  }

  /// Whether a key is spelled like a reference, so that a reference stands for it and no other.
  static func isReference(_ key: String) -> Bool {
    !key.isEmpty && ObjectReference(path: key).fullPath.utf8.count == key.utf8.count
  }

  private static let slash = UInt8(ascii: "/")

  private static func isDots(_ component: Substring.UTF8View) -> Bool {
    component.elementsEqual(".".utf8) || component.elementsEqual("..".utf8)
  }

  private static func refused(_ message: String) -> TransferError {
    TransferError(.invalidReference, message, field: "/ref")
  }
}
