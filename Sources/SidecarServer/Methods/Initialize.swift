internal import Configuration
internal import JSON
internal import JSONRPC
internal import TransferModel

/// `initialize`: who the host is, what it wants and what this ferry can do; optional, but first.
struct Initialize: ImmediateMethod {
  static let name = "initialize"
  static let isAlwaysServed = true
  static let ignoresUnknownParams = true
  let server: Server
  let lifecycle: Lifecycle

  struct Params: Sendable {
    var clientName: String?
    var stateKey: String?
    var protocolVersions: [Int64]?
    var processID: Int32?
    var rootPath: String?
    var config: JSONNode?
    var optOut: [String]
    var progressIntervalMs: Int64?
    var maxOutLineBytes: Int64?
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let client = try fields.optionalFields("clientInfo")
    var clientName: String?
    if var client {
      clientName = try client.optionalString("name")
      // Every subscriber sees it with every message.
      if let clientName, clientName.utf8.count > 256 {
        throw client.error("name", "may have at most 256 bytes")
      }
    }
    let versions: [Int64]? =
      if let node = fields.optionalNode("protocolVersions"), !node.isNull {
        try node.elements().map { element throws(JSONError) in try element.int() }
      } else {
        nil
      }
    let processID = try fields.optionalInt("processId", in: 1...Int64(Int32.max))
    let rootPath = try fields.optionalString("rootPath")
    if let rootPath, !rootPath.hasPrefix("/") {
      throw fields.error("rootPath", "must be an absolute path")
    }
    let stateKey = try fields.optionalString("stateKey")
    let config = fields.optionalNode("config").flatMap { $0.isNull ? nil : $0.asRoot }
    let optOut = try fields.optionalStringArray("optOutNotifications") ?? []
    var interval: Int64?
    if var progress = try fields.optionalFields("progress") {
      interval = try progress.optionalInt("intervalMs", in: 100...60_000)
    }
    return Params(
      clientName: clientName,
      stateKey: stateKey,
      protocolVersions: versions,
      processID: processID.map { Int32($0) },
      rootPath: rootPath,
      config: config,
      optOut: optOut,
      progressIntervalMs: interval,
      maxOutLineBytes: try fields.optionalInt(
        "maxOutLineBytes",
        in: ServerSettings.smallestOutLine...(16 << 20)
      )
    )
  }

  struct Outcome: Reply {
    let server: Server

    func write(to writer: inout JSONWriter) {
      let configuration = server.configuration
      writer.beginObject()
      writer.object("serverInfo") { writer in
        writer.field("name", "ferry")
        writer.field("version", Server.version)
      }
      writer.field("protocolVersion", Server.protocolVersion)
      writer.field("instanceId", server.instanceID)
      writer.object("capabilities") { writer in
        writer.field("framings", ["ndjson", "lsp"])
        writer.field("kinds", RemoteKind.allCases.map(\.rawValue))
        writer.field("sources", ["path", "data", "text", "stream"])
        writer.field("targets", ["path", "temporary", "inline", "stream"])
      }
      writer.key("remotes")
      writer.beginArray()
      for remote in configuration.remotes {
        writer.beginObject()
        writer.field("name", remote.name)
        writer.field("kind", remote.kind.rawValue)
        writer.field("capabilities", remote.kind.capabilities)
        writer.endObject()
      }
      writer.endArray()
      writer.field("default", configuration.defaultRemote)
      writer.object("limits") { writer in
        writer.field("maxLineBytes", server.limits.maxLineBytes)
        writer.field("maxOutLineBytes", server.settings.maxOutLineBytes)
        writer.field("maxInFlight", server.limits.maxInFlight)
      }
      writer.endObject()
    }
  }

  func run(_ params: Params) throws(TransferError) -> Outcome {
    if let versions = params.protocolVersions,
      !versions.contains(Int64(Server.protocolVersion))
    {
      var error = TransferError(
        .unsupported,
        "This ferry speaks protocol version \(Server.protocolVersion); install a client or a "
          + "ferry that fits."
      )
      error.supported = [Server.protocolVersion]
      throw error
    }
    var configuration = server.configuration
    if let config = params.config {
      do throws(ConfigurationError) {
        configuration = try configuration.merging(config)
      } catch {
        throw TransferError(.config, error.description, field: "/config")
      }
    }
    var settings = server.settings
    if let rootPath = params.rootPath { settings.rootPath = rootPath }
    if let name = params.clientName, !name.isEmpty {
      settings.publisher = name
      settings.stateKey = name
    }
    if let key = params.stateKey, !key.isEmpty { settings.stateKey = key }
    if let interval = params.progressIntervalMs {
      settings.progressInterval = .milliseconds(interval)
    }
    if let bytes = params.maxOutLineBytes { settings.maxOutLineBytes = bytes }
    lifecycle.begin()
    server.adopt(configuration, settings)
    server.outbox.optOut(of: Set(params.optOut))
    if let processID = params.processID { lifecycle.watch(processID) }
    return Outcome(server: server)
  }
}

extension RemoteKind {
  /// What remotes of this kind can do, by the protocol's names.
  var capabilities: [String] {
    switch self {
    case .local: ["objects", "files", "channels", "subscribe", "batches", "resumable"]
    case .s3: ["objects", "files", "channels", "subscribe", "batches", "resumable"]
    case .pubnub:
      ["files", "channels", "subscribe", "filter", "groups", "batches", "resumable"]
    case .cometchat: ["files", "channels", "batches"]
    }
  }
}
