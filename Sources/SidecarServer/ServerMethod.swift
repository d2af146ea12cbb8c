internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// A result that knows how it is written.
protocol Reply: Sendable {
  /// Writes the one value of the reply's `result`.
  func write(to writer: inout JSONWriter)
}

/// `{}`.
struct EmptyReply: Reply {
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.endObject()
  }
}

/// A method that is answered at once.
protocol ImmediateMethod: Method {
  associatedtype Outcome: Reply
  func run(_ params: Params) throws(TransferError) -> Outcome
}

extension ImmediateMethod {
  package func handle(_ params: Params, _ call: Call) { answer(params, call) }

  fileprivate func answer(_ params: Params, _ call: Call) {
    do throws(TransferError) {
      let outcome = try run(params)
      call.succeed { outcome.write(to: &$0) }
    } catch {
      call.fail(error.rpc())
    }
  }
}

/// A method that needs the limits of a remote: answered at once where they are known, else once the
/// remote has told them.
protocol LimitsMethod: ImmediateMethod where Params: Sendable {
  var server: Server { get }
  /// The remote, nil for the default.
  func remote(of params: Params) -> String?
}

extension LimitsMethod {
  package func handle(_ params: Params, _ call: Call) {
    // Made here, where blocking is allowed.
    _ = server.sharing
    server.engine.withLimits(of: remote(of: params) ?? server.defaultRemote) {
      answer(params, call)
    }
  }
}

/// A method that waits for a disk or a network; cancelled, it is answered at once and what it
/// began may still come about.
protocol AsyncMethod: Method where Params: Sendable {
  associatedtype Outcome: Reply
  var server: Server { get }
  func run(_ params: Params) async throws(TransferError) -> Outcome
}

extension AsyncMethod {
  package func handle(_ params: Params, _ call: Call) {
    // Made here, where blocking is allowed.
    _ = server.sharing
    call.onCancel { call.fail(.cancelled) }
    server.calls.add(
      .init(call: call) {
        do throws(TransferError) {
          let outcome = try await run(params)
          call.succeed { outcome.write(to: &$0) }
        } catch {
          call.fail(error.rpc())
        }
      }
    )
  }
}

/// A method that starts a transfer, and is answered when that has ended (or at once: `detach`).
protocol TransferMethod: Method {
  var server: Server { get }
  /// The options in the parameters.
  func options(of params: Params) -> TransferOptions
  /// What to transfer.
  func operation(
    _ params: Params,
    _ settings: ServerSettings
  ) throws(TransferError)
    -> TransferOperation
  /// The remote, nil for the default.
  func remote(of params: Params) -> String?
  /// Whether a digest is computed.
  func computesDigest(_ params: Params) -> Bool
  /// Whether the request brings bytes.
  static var isUpload: Bool { get }
}

extension TransferMethod {
  package func handle(_ params: Params, _ call: Call) {
    do throws(TransferError) {
      let options = options(of: params)
      let origin = TransferOrigin(
        method: Self.name,
        params: options.canonical,
        sourceIdentity: ""
      )
      try server.engine.submit(
        spec(params, id: options.transferID, origin: origin, server.settings),
        isChosen: options.isChosen,
        for: call,
        isDetached: options.isDetached,
        on: server.connection
      )
    } catch {
      call.fail(error.rpc())
    }
  }

  private func spec(
    _ params: Params,
    id: TransferID,
    origin: TransferOrigin,
    _ settings: ServerSettings
  ) throws(TransferError) -> TransferSpec {
    TransferSpec(
      id: id,
      remote: remote(of: params) ?? server.defaultRemote,
      operation: try operation(params, settings),
      computesDigest: computesDigest(params),
      reportsProgress: options(of: params).reportsProgress,
      origin: origin,
      root: settings.rootPath
    )
  }
}

extension TransferMethod {
  /// Reads a request again that an earlier process took in; its `data` or `text` come back empty.
  ///
  /// Its relative paths start at `root`.
  func spec(
    restoring origin: TransferOrigin,
    id: TransferID,
    root: String
  ) throws(TransferError) -> TransferSpec {
    var settings = server.settings
    settings.rootPath = root
    let params: Params
    do throws(JSONError) {
      var fields = try JSONFields(Self.completed(origin.params, id: id))
      params = try Self.decode(&fields)
    } catch {
      throw TransferError(
        .invalidArgument,
        "The kept request of transfer \(id) cannot be read: \(error)."
      )
    }
    return try spec(params, id: id, origin: origin, settings)
  }

  /// The parameters with what the journal keeps elsewhere.
  private static func completed(
    _ params: RawJSON,
    id: TransferID
  ) throws(JSONError) -> JSONNode {
    let members = try JSONNode(params).members()
    let names = Set(members.map(\.key))
    var writer = JSONWriter()
    writer.beginObject()
    for (name, value) in members { writer.field(named: name, value.raw) }
    if !names.contains("transferId") { writer.field("transferId", id.description) }
    if isUpload, names.isDisjoint(with: ["path", "stream"]) { writer.field("text", "") }
    writer.endObject()
    return JSONNode(RawJSON(validated: writer.take()))
  }
}
