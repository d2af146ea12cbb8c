/// Puts environment variables and the home folder into a value.
///
/// `${NAME}` is the variable's value; `${NAME:-text}` is `text`, itself expanded, where the variable
/// is unset or empty; `$$` is a dollar sign, and any other use of `$` is refused. What a variable holds
/// is not expanded again. After that a value that is `~` or starts with `~/` gets `$HOME` in its place.
enum Expansion {
  enum Failure: Error, Equatable {
    /// A variable without a default is not set.
    case missing(variable: String)
    /// The value is not written as above; the text says how.
    case malformed(String)
  }

  /// How deep defaults may hold further variables.
  private static let maxDepth = 8

  /// The text with everything put in.
  static func expand(
    _ text: String,
    environment: [String: String]
  ) throws(Failure) -> String {
    let expanded = try variables(in: text[...], environment, depth: 0)
    guard expanded == "~" || expanded.hasPrefix("~/") else { return expanded }
    guard let home = environment["HOME"], !home.isEmpty else {
      throw .missing(variable: "HOME")
    }
    return (home == "/" ? "" : home) + expanded.dropFirst()
  }

  private static func variables(
    in text: Substring,
    _ environment: [String: String],
    depth: Int
  ) throws(Failure) -> String {
    guard depth <= maxDepth else { throw .malformed("defaults nest too deep") }
    var result = ""
    var rest = text
    while let dollar = rest.firstIndex(of: "$") {
      result += rest[..<dollar]
      rest = rest[dollar...].dropFirst()
      if rest.first == "$" {
        result += "$"
        rest = rest.dropFirst()
      } else if rest.first == "{" {
        let inside = try balanced(rest.dropFirst())
        result += try value(of: inside, environment, depth: depth)
        rest = rest[inside.endIndex...].dropFirst()
      } else {
        throw .malformed("write ${NAME} for a variable, or $$ for a dollar sign")
      }
    }
    return result + rest
  }

  /// What lies before the brace that closes; braces of inner variables are counted.
  private static func balanced(_ text: Substring) throws(Failure) -> Substring {
    var depth = 1
    var index = text.startIndex
    while index < text.endIndex {
      if text[index...].hasPrefix("$$") {
        index = text.index(after: index)
      } else if text[index...].hasPrefix("${") {
        depth += 1
      } else if text[index] == "}" {
        depth -= 1
        if depth == 0 { return text[..<index] }
      }
      index = text.index(after: index)
    }
    throw .malformed("a ${ is not closed by a }")
  }

  private static func value(
    of inside: Substring,
    _ environment: [String: String],
    depth: Int
  ) throws(Failure) -> String {
    let name = inside.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    let rest = inside[name.endIndex...]
    guard let first = name.first, !first.isNumber, rest.isEmpty || rest.hasPrefix(":-") else {
      throw .malformed("write ${NAME} or ${NAME:-default}, with a name of letters, digits and _")
    }
    if rest.isEmpty {
      guard let value = environment[String(name)] else {
        throw .missing(variable: String(name))
      }
      return value
    }
    if let value = environment[String(name)], !value.isEmpty { return value }
    return try variables(in: rest.dropFirst(2), environment, depth: depth + 1)
  }
}
