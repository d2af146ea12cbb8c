package import JSON

/// A path below a remote's root, normalised as Firebase Storage does: repeated slashes become
/// one, leading and trailing ones go, and nothing else is touched (`..` is a literal name).
package struct ObjectReference: Sendable, Hashable {
  /// The normalised path; empty for the root.
  @ExactString package private(set) var fullPath: String

  /// Normalises a path.
  package init(path: String) {
    fullPath = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
      .joined(separator: "/")
  }

  /// Whether it names the remote's root, which is no object.
  package var isRoot: Bool { fullPath.isEmpty }

  /// The last component; empty for the root.
  package var name: String { Self.lastComponent(of: fullPath) }

  /// The reference one level up; nil for the root.
  package var parent: ObjectReference? {
    guard !isRoot else { return nil }
    guard let slash = fullPath.utf8.lastIndex(of: UInt8(ascii: "/")) else {
      return ObjectReference(path: "")
    }
    return ObjectReference(path: String(fullPath[..<slash]))
  }

  /// The reference below this one.
  package func child(_ path: String) -> ObjectReference {
    ObjectReference(path: fullPath + "/" + path)
  }

  /// The text after the last slash.
  package static func lastComponent(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
    return String(path[path.utf8.index(after: slash)...])
  }
}
