internal import JSON

/// What one JSON value on the wire turns out to be.
enum Envelope {
  case request(RequestID, method: String, params: JSONNode?)
  case notification(method: String, params: JSONNode?)
  /// A reply to a request, which we never send.
  case response
  /// Not a request; the id is known where it could be read.
  case invalid(RPCError, RequestID?)

  /// Reads the envelope of one request, notification or response.
  ///
  /// `params: null`, which some hosts send for methods without parameters, counts as absent.
  init(_ node: JSONNode) {
    guard node.kind == .object else {
      self = .invalid(.invalidRequest("expected an object"), nil)
      return
    }
    var members = Members()
    node.forEachMember { key, value in
      members.take(key, value)
      return true
    }
    self = members.envelope
  }
}

private struct Members {
  var version: JSONNode?
  var id: JSONNode?
  var method: JSONNode?
  var params: JSONNode?
  var isAnswer = false
  var repeated: String?

  mutating func take(_ key: JSONNode, _ value: JSONNode) {
    if key.isString("jsonrpc") {
      set(\.version, value, "jsonrpc")
    } else if key.isString("id") {
      set(\.id, value, "id")
    } else if key.isString("method") {
      set(\.method, value, "method")
    } else if key.isString("params") {
      set(\.params, value, "params")
    } else if key.isString("result") || key.isString("error") {
      isAnswer = true
    }
  }

  private mutating func set(
    _ member: WritableKeyPath<Members, JSONNode?>,
    _ value: JSONNode,
    _ name: String
  ) {
    if self[keyPath: member] != nil { repeated = name }
    self[keyPath: member] = value
  }

  var envelope: Envelope {
    if let repeated { return .invalid(.invalidRequest("`\(repeated)` is given twice"), nil) }
    let requestID = id.flatMap { RequestID($0) }
    func invalid(_ reason: String) -> Envelope { .invalid(.invalidRequest(reason), requestID) }
    if method == nil, isAnswer { return .response }
    guard version?.isString("2.0") == true else { return invalid("`jsonrpc` must be \"2.0\"") }
    guard let method, let name = try? method.string() else {  // Only its kind can be wrong.
      return invalid("`method` must be a string")
    }
    if id != nil, requestID == nil {
      return invalid("`id` must be an integer or a string of at most \(RequestID.maxBytes) bytes")
    }
    var named = params
    switch params?.kind {
    case .object, .array, nil: break
    case .null: named = nil
    case .bool, .number, .string: return invalid("`params` must be an object")
    }
    if let requestID {
      return .request(requestID, method: name, params: named?.asRoot)
    }
    return .notification(method: name, params: named?.asRoot)
  }
}
