/// Why a JSON text or one value inside it was refused.
package struct JSONError: Error, Sendable, Equatable {
  /// RFC 6901 pointer to the offending value; the empty string means the whole text.
  package let pointer: String
  /// What was expected there, as the end of a sentence that starts with the pointer.
  package let message: String

  /// Makes an error about the value at `pointer`.
  package init(pointer: String = "", message: String) {
    self.pointer = pointer
    self.message = message
  }

  /// The pointer and the message as one sentence.
  package var description: String { pointer.isEmpty ? message : "\(pointer) \(message)" }
}

/// Cuts a name from the input to at most 100 characters, so that no error repeats megabytes.
package func clipped(_ name: String) -> String {
  name.utf8.count <= 100
    ? name : String(String.UnicodeScalarView(name.unicodeScalars.prefix(100))) + "…"
}
