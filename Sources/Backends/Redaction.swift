internal import TransferModel

extension [Secret] {
  /// A remote's words on one line, without these secrets as they are or percent-encoded: servers
  /// repeat what they were asked.
  package func redacted(_ words: String) -> String {
    let visible = words.unicodeScalars.map { $0.value < 32 ? " " : $0 }
    // The longest first: one may begin with another.
    let ordered = sorted { $0.text.utf8.count > $1.text.utf8.count }
    return ordered.reduce(String(String.UnicodeScalarView(visible))) { words, secret in
      let encoded = PercentEncoding.component(secret.text)
      return [secret.text, encoded, Self.withLowerDigits(encoded)].reduce(words) { words, form in
        form.isEmpty ? words : words.replacing(form, with: "(secret)")
      }
    }
  }

  private static func withLowerDigits(_ encoded: String) -> String {
    let pieces = encoded.split(separator: "%", omittingEmptySubsequences: false)
    return pieces.dropFirst().reduce(String(pieces[0])) { text, piece in
      text + "%" + piece.prefix(2).lowercased() + piece.dropFirst(2)
    }
  }
}
