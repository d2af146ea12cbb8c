internal import Configuration
internal import Crypto
internal import JSON
internal import JSONRPC
internal import Sharing
internal import TransferEngine
internal import TransferModel

/// `batch/create`: makes a batch of uploads to one destination, or joins it.
struct BatchCreate: LimitsMethod {
  static let name = "batch/create"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var channel: String?
    var prefix: String?
    var batchID: String
    var pace: BatchSettings.Pace
    var parentMessageID: String?
  }

  struct Outcome: Reply {
    let batchID: String

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.field("batchId", batchID)
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let remote = try fields.remote()
    let channel = try fields.optionalChannel()
    let prefix = try fields.optionalString("prefix")
    guard (channel == nil) != (prefix == nil) else {
      throw channel == nil
        ? fields.missing("channel", ", or prefix instead of it for plain objects")
        : fields.error("channel", "give either channel or prefix")
    }
    return try Params(
      remote: remote,
      channel: channel,
      prefix: prefix,
      batchID: fields.optionalBatchPart("batchId") ?? RandomID.make(),
      pace: .init(
        concurrency: fields.batchConcurrency() ?? 1,
        retries: fields.batchRetries() ?? 0
      ),
      parentMessageID: fields.optionalString("parentMessageId")
    )
  }

  func remote(of params: Params) -> String? { params.remote }

  func run(_ params: Params) throws(TransferError) -> Outcome {
    let remote = params.remote ?? server.defaultRemote
    _ = try server.engine.remotes.limits(of: remote)
    let destination: BatchSettings.Destination
    if let channel = params.channel {
      try server.require("files", of: remote)
      destination = .channel(try server.engine.channel(channel, on: remote))
    } else {
      try server.require("objects", of: remote)
      destination = .prefix(try server.reference(params.prefix ?? "", on: remote))
    }
    let parent = try server.parent(params.parentMessageID, on: remote, destination)
    try server.sharing.batches.create(
      BatchSettings(
        id: params.batchID,
        remote: remote,
        destination: destination,
        pace: params.pace,
        parent: parent
      )
    )
    return Outcome(batchID: params.batchID)
  }
}

extension Server {
  /// - Throws: `ERR_UNSUPPORTED` where a remote cannot do something.
  fileprivate func require(_ capability: String, of remote: String) throws(TransferError) {
    let kind = configuration.remote(named: remote)?.kind
    guard kind?.capabilities.contains(capability) == true else {
      throw TransferError(
        .unsupported,
        "\"\(remote)\" has no \(capability); initialize lists what each remote can."
      )
    }
  }

  /// The message that is answered in its thread: `channel:timetoken`, or the timetoken alone.
  /// - Throws: `ERR_UNSUPPORTED` where messages have no threads.
  func parent(
    _ text: String?,
    on remote: String,
    _ destination: BatchSettings.Destination
  ) throws(TransferError) -> Timetoken? {
    guard let text else { return nil }
    guard hasMediaMessages(remote) else {
      throw TransferError(
        .unsupported,
        "\"\(remote)\" has no threads: leave parentMessageId out.",
        field: "/parentMessageId"
      )
    }
    let parts = text.utf8.split(
      separator: UInt8(ascii: ":"),
      maxSplits: .max,
      omittingEmptySubsequences: false
    )
    let channel = parts.dropLast().map { String(Substring($0)) }.joined(separator: ":")
    let isElsewhere =
      parts.count > 1 && .channel((try? engine.channel(channel, on: remote)) ?? "") != destination
    guard !isElsewhere, let parent = Timetoken(String(Substring(parts[parts.count - 1]))),
      parent.value > 0
    else {
      throw TransferError(
        .invalidArgument,
        "\"\(text.prefix(100))\" is no message of this batch's channel.",
        field: "/parentMessageId"
      )
    }
    return parent
  }
}
