package import JSON

/// Knows the methods and leads each request to its own.
package struct Router: Sendable {
  /// Asked before each request is led to its method: an error refuses it.
  ///
  /// This is where the life cycle is guarded. Called on the reader's thread.
  package var gate: (@Sendable (_ method: String) -> RPCError?)?

  /// The names of all methods, in the order they were registered.
  package private(set) var methodNames: [String] = []

  private var routes: [String: Route] = [:]
  private var hints: [String: String] = [:]

  private struct Route {
    let isAlwaysServed: Bool
    let askedNames: @Sendable (JSONNode) throws(JSONError) -> [String]
    let handle: @Sendable (JSONNode?, Call) -> Void
  }

  /// Makes a router without methods.
  package init() {}

  /// Adds a method; its name must be new.
  package mutating func register<M: Method>(_ method: M) {
    precondition(routes[M.name] == nil, "\(M.name) is registered twice")
    methodNames.append(M.name)
    routes[M.name] = Route(
      isAlwaysServed: M.isAlwaysServed,
      askedNames: { params throws(JSONError) in try Self.decode(M.self, params).names },
      handle: { params, call in
        do throws(JSONError) {
          method.handle(try Self.decode(M.self, params).params, call)
        } catch {
          call.fail(.invalidParams(error))
        }
      }
    )
  }

  /// Says why a method is not there, for those who ask for it.
  package mutating func explainAbsence(of name: String, _ hint: String) { hints[name] = hint }

  /// The parameter names a method asks for while it reads `params`, for comparing with a schema.
  /// - Returns: nil when there is no such method.
  /// - Throws: a ``JSONError`` when the method refuses the parameters.
  package func askedNames(
    of method: String,
    reading params: JSONNode
  ) throws(JSONError) -> [String]? {
    try routes[method]?.askedNames(params)
  }

  /// Whether a method is served although the host does not read or too much is in flight.
  package func isAlwaysServed(_ method: String) -> Bool { routes[method]?.isAlwaysServed ?? false }

  func handle(_ method: String, _ params: JSONNode?, _ call: Call) {
    if let refusal = gate?(method) { return call.fail(refusal) }
    guard let route = routes[method] else {
      return call.fail(
        .methodNotFound(
          method,
          hint: hints[method]
            ?? NearestName.find(method, in: methodNames)
            .map { "did you mean `\($0)`?" }
        )
      )
    }
    route.handle(params, call)
  }

  private static func decode<M: Method>(
    _ type: M.Type,
    _ params: JSONNode?
  ) throws(JSONError) -> (params: M.Params, names: [String]) {
    if let params, params.kind != .object {
      throw JSONError(message: "must be an object: this server takes named parameters only")
    }
    var fields = if let params { try JSONFields(params) } else { JSONFields() }
    let decoded = try M.decode(&fields)
    if !M.ignoresUnknownParams { try fields.finish() }
    return (decoded, fields.askedNames)
  }
}
