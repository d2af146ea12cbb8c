internal import Configuration
internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `limits/get`: what transfers may take.
struct LimitsGet: LimitsMethod {
  static let name = "limits/get"
  let server: Server

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> String? {
    try fields.remote()
  }

  func remote(of params: String?) -> String? { params }

  func run(_ remote: String?) throws(TransferError) -> LimitsReply {
    try LimitsReply(server, remote: remote)
  }
}

/// The limits of a remote, with the slots and rates that hold now.
struct LimitsReply: Reply {
  private let limits: Limits
  /// Why those that the remote sets itself are not known.
  private let failure: TransferError?

  init(_ server: Server, remote: String?) throws(TransferError) {
    let engine = server.engine
    let global = server.configuration.limits
    let remote = remote ?? server.defaultRemote
    var limits = try engine.remotes.limits(of: remote)
    failure = engine.remotes.limitsFailure(of: remote)
    // What the remote does not limit itself is as limits/set left it.
    if limits.concurrency == global.concurrency { limits.concurrency = engine.concurrency }
    if limits.uploadRate == global.uploadRate { limits.uploadRate = engine.uploadRate.rate }
    if limits.downloadRate == global.downloadRate {
      limits.downloadRate = engine.downloadRate.rate
    }
    self.limits = limits
  }

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.nullable("maxFileSize", limits.maxFileSize)
    writer.nullable("maxFileCount", limits.maxFileCount.map { Int64($0) })
    writer.field("allowedTypes", limits.allowedTypes)
    writer.field("blockedTypes", limits.blockedTypes)
    writer.field("fileTransferEnabled", true)
    writer.field("concurrency", limits.concurrency)
    writer.nullable("uploadRate", limits.uploadRate)
    writer.nullable("downloadRate", limits.downloadRate)
    if let failure {
      writer.key("error")
      failure.write(to: &writer)
    }
    writer.endObject()
  }
}

extension JSONWriter {
  /// A member with an integer, or null for none.
  fileprivate mutating func nullable(_ name: StaticString, _ value: Int64?) {
    key(name)
    if let value { int(value) } else { null() }
  }
}
