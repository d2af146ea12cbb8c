/// A moment on a channel: 100 ns units since 1970, 17 decimal digits, strictly rising per remote; on
/// CometChat the id of a message, which rises too.
///
/// It travels as a decimal string because 17 digits do not fit a double.
package struct Timetoken: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// 100 ns units since 1970-01-01T00:00:00Z.
  package let value: Int64

  /// Takes the number as it is.
  package init(_ value: Int64) { self.value = value }

  /// Reads decimal digits; nil for anything else.
  package init?(_ text: String) {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let value = Int64(text)
    else { return nil }
    self.value = value
  }

  package var description: String { String(value) }

  package static func < (a: Timetoken, b: Timetoken) -> Bool { a.value < b.value }
}
