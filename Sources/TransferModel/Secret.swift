/// A key, token or password: printing, dumping or interpolating it shows nothing of it.
package struct Secret: Sendable, Hashable {
  /// The secret itself, for the one place that signs or sends with it.
  package let text: String

  /// Takes a secret.
  package init(_ text: String) { self.text = text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "(secret)" }
  package var debugDescription: String { "(secret)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
