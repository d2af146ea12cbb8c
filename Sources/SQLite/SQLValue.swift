/// A value bound to a `?` of a statement.
package enum SQLValue: Sendable, Equatable {
  case null
  case integer(Int64)
  case text(String)
  case blob([UInt8])

  /// The integer, or NULL.
  package static func optional(_ value: Int64?) -> SQLValue { value.map(integer) ?? .null }
  /// The text, or NULL.
  package static func optional(_ value: String?) -> SQLValue { value.map(text) ?? .null }
  /// The bytes, or NULL.
  package static func optional(_ value: [UInt8]?) -> SQLValue { value.map(blob) ?? .null }
}

extension SQLValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  package init(stringLiteral value: String) { self = .text(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
}
