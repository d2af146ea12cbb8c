/// What a cipher refuses; the words name no key and no content.
package enum CipherError: Error, Sendable, Equatable {
  /// Zero bytes, which no form encrypts.
  case emptyPlaintext
  /// Ciphertext that is cut, damaged or of another key; with what was wrong.
  case damaged(String)
  /// Ciphertext of a form that is not known; with what it names.
  case unknownForm(String)

  /// What was wrong, for people.
  package var words: String {
    switch self {
    case .emptyPlaintext: "there is nothing to encrypt: zero bytes cannot be encrypted"
    case .damaged(let what), .unknownForm(let what): what
    }
  }
}
