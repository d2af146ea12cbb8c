/// Why a JSON text or one value inside it was refused.
package struct JSONError: Error, Sendable, Equatable {
  /// What was expected there, as the end of a sentence that starts with the pointer.
  package let message: String
  private let place: Place

  private enum Place {
    case pointer(String)
    case node(JSONNode)
  }

  /// Makes an error about the value at `pointer`.
  package init(pointer: String = "", message: String) {
    place = .pointer(pointer)
    self.message = message
  }

  /// Makes an error about a value.
  ///
  /// Its pointer is found by walking the text up to it, when somebody asks: who only tries what a
  /// value is would pay for the whole text each time.
  init(about node: JSONNode, message: String) {
    place = .node(node)
    self.message = message
  }

  /// RFC 6901 pointer to the offending value; the empty string means the whole text.
  package var pointer: String {
    switch place {
    case .pointer(let pointer): pointer
    case .node(let node): node.pointer
    }
  }

  /// The pointer and the message as one sentence.
  package var description: String {
    let pointer = pointer
    return pointer.isEmpty ? message : "\(pointer) \(message)"
  }

  /// Whether both say the same of the same place.
  package static func == (one: JSONError, other: JSONError) -> Bool {
    one.message == other.message && one.pointer == other.pointer
  }
}

/// Cuts a name from the input to at most 100 characters, so that no error repeats megabytes.
package func clipped(_ name: String) -> String {
  name.utf8.count <= 100
    ? name : String(String.UnicodeScalarView(name.unicodeScalars.prefix(100))) + "…"
}
