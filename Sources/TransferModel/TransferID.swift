package import JSON

/// What a transfer is called: 1–128 characters, chosen by the host or made by ferry.
package struct TransferID: Sendable, Hashable, CustomStringConvertible {
  @ExactString package private(set) var description: String

  /// Takes a host's choice; nil where it is empty, too long or holds control characters.
  package init?(_ text: String) {
    // Of code points: a letter may have any number of marks.
    let scalars = text.unicodeScalars
    guard (1...128).contains(scalars.count), scalars.allSatisfy({ $0.value >= 32 }) else {
      return nil
    }
    description = text
  }
}
