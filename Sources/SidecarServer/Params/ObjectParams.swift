internal import JSON

/// What names an object.
struct ObjectParams: Sendable {
  var remote: String?
  var ref: String

  init(_ fields: inout JSONFields) throws(JSONError) {
    remote = try fields.remote()
    ref = try fields.string("ref")
  }
}
