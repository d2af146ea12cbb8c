/// Why a configuration cannot be used: where, and what to do about it.
///
/// Messages quote keys, and values only of sizes, times, numbers and kinds as they are written (never
/// expanded), so that no secret of a file or of the environment gets into them.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Where the text is wrong.
  package var location: ConfigurationLocation
  /// What is wrong there and what to do; no secrets.
  package var message: String

  /// Makes an error at a place.
  package init(_ location: ConfigurationLocation, _ message: String) {
    self.location = location
    self.message = message
  }

  /// One line for people, such as `config.yaml:12:5: unknown key "romotes"`.
  package var description: String { "\(location): \(message)" }
}

/// Where a part of a configuration was written.
package enum ConfigurationLocation: Sendable, Hashable, CustomStringConvertible {
  /// The values ferry has without any file.
  case builtIn
  /// A file as a whole, by the path it was opened with.
  case file(String)
  /// A character of a file; line and column count from 1, columns in Unicode scalars.
  case text(file: String, line: Int, column: Int)
  /// A value of a JSON document, by its JSON pointer (RFC 6901).
  case json(pointer: String)

  /// The place as people and editors write it: `file:line:column`, or the JSON pointer.
  package var description: String {
    switch self {
    case .builtIn: "built-in configuration"
    case .file(let path): path
    case .text(let path, let line, let column): "\(path):\(line):\(column)"
    case .json(let pointer): pointer.isEmpty ? "/" : pointer
    }
  }
}
