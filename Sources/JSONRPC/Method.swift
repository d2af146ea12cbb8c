package import JSON

/// One method of the protocol: how its parameters are read and what it does.
package protocol Method: Sendable {
  /// The parameters, read and checked.
  associatedtype Params

  /// The name on the wire.
  static var name: String { get }

  /// Whether parameters that are not known are ignored rather than refused.
  static var ignoresUnknownParams: Bool { get }

  /// Whether it is served although too many requests are in flight.
  static var isAlwaysServed: Bool { get }

  /// Reads the parameters; leftovers are refused by the router.
  /// - Throws: a ``JSONError`` that becomes an error reply with its pointer.
  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params

  /// Starts the work and answers `call`, now or later, from any thread.
  ///
  /// Called on the reader's thread, in the order of the requests: it must return quickly.
  func handle(_ params: Params, _ call: Call)
}

extension Method {
  /// Unknown parameters are refused unless a method says otherwise.
  package static var ignoresUnknownParams: Bool { false }

  /// Methods are refused under overload unless one says otherwise.
  package static var isAlwaysServed: Bool { false }
}
