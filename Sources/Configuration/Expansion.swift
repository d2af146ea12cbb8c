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
    let bytes = try variables(in: Array(text.utf8)[...], environment, depth: 0)
    let expanded = String(decoding: bytes, as: UTF8.self)
    guard expanded == "~" || expanded.hasPrefix("~/") else { return expanded }
    guard let home = environment["HOME"], !home.isEmpty else {
      throw .missing(variable: "HOME")
    }
    return (home == "/" ? "" : home) + expanded.dropFirst()
  }

  private static func variables(
    in text: ArraySlice<UInt8>,
    _ environment: [String: String],
    depth: Int
  ) throws(Failure) -> [UInt8] {
    guard depth <= maxDepth else { throw .malformed("defaults nest too deep") }
    var result: [UInt8] = []
    var rest = text
    while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
      result += rest[..<dollar]
      rest = rest[(dollar + 1)...]
      switch rest.first {
      case UInt8(ascii: "$"):
        result.append(UInt8(ascii: "$"))
        rest = rest.dropFirst()
      case UInt8(ascii: "{"):
        let inside = try balanced(rest.dropFirst())
        result += try value(of: inside, environment, depth: depth)
        rest = rest[(inside.endIndex + 1)...]
      default:
        throw .malformed("write ${NAME} for a variable, or $$ for a dollar sign")
      }
    }
    return result + rest
  }

  /// What lies before the brace that closes; braces of inner variables are counted.
  private static func balanced(
    _ text: ArraySlice<UInt8>
  ) throws(Failure) -> ArraySlice<UInt8> {
    var depth = 1
    var index = text.startIndex
    while index < text.endIndex {
      if text[index] == UInt8(ascii: "$"), index + 1 < text.endIndex {
        // What follows a dollar belongs to it: a second one, or the brace of a variable.
        index += 1
        if text[index] == UInt8(ascii: "{") { depth += 1 }
      } else if text[index] == UInt8(ascii: "}") {
        depth -= 1
        if depth == 0 { return text[..<index] }
      }
      index += 1
    }
    throw .malformed("a ${ is not closed by a }")
  }

  private static func value(
    of inside: ArraySlice<UInt8>,
    _ environment: [String: String],
    depth: Int
  ) throws(Failure) -> [UInt8] {
    let name = inside.prefix(while: isNameByte)
    let rest = inside[name.endIndex...]
    guard let first = name.first, !isDigit(first), rest.isEmpty || rest.starts(with: ":-".utf8)
    else {
      throw .malformed("write ${NAME} or ${NAME:-default}, with a name of letters, digits and _")
    }
    let variable = String(decoding: name, as: UTF8.self)
    if rest.isEmpty {
      guard let value = environment[variable] else { throw .missing(variable: variable) }
      return Array(value.utf8)
    }
    if let value = environment[variable], !value.isEmpty { return Array(value.utf8) }
    return try variables(in: rest.dropFirst(2), environment, depth: depth + 1)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    isDigit(byte) || byte == UInt8(ascii: "_")
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}
