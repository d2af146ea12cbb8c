internal import JSON
internal import JSONRPC
internal import TransferModel

/// `object/get`: fetches an object or a range of its bytes.
struct ObjectGet: TransferMethod {
  static let name = "object/get"
  static let isUpload = false
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var ref: String
    var target: TargetParams
    var range: ByteRange?
    var computesDigest: Bool
    var options: TransferOptions
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let remote = try fields.remote()
    let ref = try fields.string("ref")
    let target = try TargetParams(&fields)
    let range = try fields.optionalObject("range") { fields throws(JSONError) in
      ByteRange(
        offset: try fields.int("offset", in: 0...Int64.max),
        length: try fields.optionalInt("length", in: 1...Int64.max)
      )
    }
    return try Params(
      remote: remote,
      ref: ref,
      target: target,
      range: range,
      computesDigest: fields.computesDigest(),
      options: TransferOptions(&fields, isStream: target.isStream)
    )
  }

  func options(of params: Params) -> TransferOptions { params.options }
  func remote(of params: Params) -> String? { params.remote }
  func computesDigest(_ params: Params) -> Bool { params.computesDigest }

  func operation(
    _ params: Params,
    _ settings: ServerSettings
  ) throws(TransferError) -> TransferOperation {
    .getObject(
      GetObject(
        reference: try server.object(params.ref, on: params.remote),
        range: params.range,
        target: try params.target.target(
          relativeTo: settings.rootPath,
          inlineLimit: settings.inlineLimit
        )
      )
    )
  }
}
