internal import Configuration
internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `limits/set`: changes slots and rates at once, for the process; null lifts a rate.
struct LimitsSet: ImmediateMethod {
  static let name = "limits/set"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var concurrency: Int?
    /// Nil: as it is; `.some(nil)`: none.
    var uploadRate: Int64??
    var downloadRate: Int64??
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    try Params(
      remote: fields.remote(),
      concurrency: fields.optionalInt("concurrency", in: 1...64).map { Int($0) },
      uploadRate: rate("uploadRate", &fields),
      downloadRate: rate("downloadRate", &fields)
    )
  }

  private static func rate(
    _ name: String,
    _ fields: inout JSONFields
  ) throws(JSONError) -> Int64?? {
    guard let node = fields.optionalNode(name) else { return nil }
    guard !node.isNull else { return .some(nil) }
    let rate = try node.int()
    guard rate >= 1 else { throw node.error("must be at least 1 byte per second, or null") }
    return rate
  }

  func run(_ params: Params) throws(TransferError) -> LimitsReply {
    let engine = server.engine
    let reply = try LimitsReply(server, remote: params.remote)
    guard params.concurrency != nil || params.uploadRate != nil || params.downloadRate != nil
    else { return reply }
    if let concurrency = params.concurrency { engine.set(concurrency: concurrency) }
    if let rate = params.uploadRate { engine.uploadRate.set(rate: rate) }
    if let rate = params.downloadRate { engine.downloadRate.set(rate: rate) }
    return try LimitsReply(server, remote: params.remote)
  }
}
