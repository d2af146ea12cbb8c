/// A text that equals another only where all bytes are the same: names and ids that somebody else
/// chose.
///
/// The equality of String takes different spellings of é for one, and the sign of Kelvin for a K. As a
/// property wrapper it gives the structure around it the same equality.
@propertyWrapper
package struct ExactString: Sendable, Hashable, Comparable {
  /// The text as it was given.
  package var wrappedValue: String

  /// Takes the value of a wrapped property.
  package init(wrappedValue: String) { self.wrappedValue = wrappedValue }

  /// Takes a text.
  package init(_ text: String) { wrappedValue = text }

  /// The text as it was given.
  package var text: String { wrappedValue }

  /// Compares bytes.
  package static func == (left: ExactString, right: ExactString) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  /// Orders by bytes.
  package static func < (left: ExactString, right: ExactString) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  /// Hashes the bytes.
  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

extension ExactString: ExpressibleByStringLiteral {
  package init(stringLiteral text: String) { self.init(text) }
}

extension Dictionary where Key == ExactString {
  /// The value of a text.
  package subscript(_ text: String) -> Value? {
    get { self[ExactString(text)] }
    _modify { yield &self[ExactString(text)] }
  }
}
