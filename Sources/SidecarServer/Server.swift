package import Configuration
internal import Crypto
internal import JSON
package import JSONRPC
internal import Sharing
internal import Synchronization
internal import TransferEngine
internal import TransferModel

/// One host's server: routes its requests, tells it what happens, and ends when it should.
package final class Server: Sendable {
  /// The version of the program and, as an integer, of the protocol.
  package static let version = "0.1.0"
  static let protocolVersion = 1

  let connection: Connection
  let outbox: Outbox
  let limits: Connection.Limits
  let log: Log
  let instanceID = RandomID.make()
  let started = ContinuousClock.now
  let counters = Counters()
  let calls: CallQueue
  private let state: Mutex<State>

  private struct State {
    var configuration: Configuration
    var settings: ServerSettings
    /// Made when it is first needed, since `initialize` may still change the configuration.
    var sharing: Sharing?
  }

  /// What went through, since the start.
  final class Counters: Sendable {
    let received = Atomic<Int64>(0)
    let refused = Atomic<Int64>(0)
  }

  /// Makes a server over an open connection; nothing is read yet.
  ///
  /// Relative paths start in the working directory unless the host says otherwise.
  package init(
    connection: Connection,
    limits: Connection.Limits,
    configuration: Configuration,
    workingDirectory: String,
    log: Log
  ) {
    self.log = log
    self.connection = connection
    self.limits = limits
    outbox = connection.outbox
    calls = CallQueue(outbox: connection.outbox) { [counters] in
      counters.refused.add(1, ordering: .relaxed)
    }
    state = Mutex(
      State(
        configuration: configuration,
        settings: ServerSettings(rootPath: workingDirectory)
      )
    )
  }

  var settings: ServerSettings { state.withLock { $0.settings } }
  var configuration: Configuration { state.withLock { $0.configuration } }
  var defaultRemote: String { state.withLock { $0.configuration.defaultRemote } }

  /// The sharing, made at the first call, together with what tells its events.
  ///
  /// The first call comes on the reader's thread, and waits there until what earlier processes
  /// left is known: every answer after it depends on that.
  var sharing: Sharing {
    let (sharing, isNew) = state.withLock { state in
      if let sharing = state.sharing { return (sharing, false) }
      let log = log
      let engine = TransferEngine(
        remotes: Remotes(configuration: state.configuration),
        configuration: state.configuration,
        stateKey: state.settings.stateKey,
        decode: { [weak self] origin, id, root throws(TransferError) in
          guard let self else { throw TransferError(.shuttingDown, "The server is gone.") }
          return try self.spec(restoring: origin, id: id, root: root)
        },
        revive: { [connection] engine, ticket, id, remote in
          engine.revive(ticket, of: id, remote: remote, on: connection)
        },
        onTrouble: { log.warn($0.message) }
      )
      let sharing = Sharing(engine: engine)
      state.sharing = sharing
      return (sharing, true)
    }
    if isNew {
      connection.onCancelOfParked { [engine = sharing.engine] owner in
        if let id = TransferID(owner) { engine.load(id) }
      }
      blocking(for: nil) { await sharing.restore() }
      Notifier(outbox: outbox, sharing: sharing, settings: settings).start()
    }
    return sharing
  }

  private func spec(
    restoring origin: TransferOrigin,
    id: TransferID,
    root: String
  ) throws(TransferError) -> TransferSpec {
    switch origin.method {
    case FileSend.name:
      try FileSend(server: self).spec(restoring: origin, id: id, root: root)
    case FileDownload.name:
      try FileDownload(server: self).spec(restoring: origin, id: id, root: root)
    case ObjectPut.name: try ObjectPut(server: self).spec(restoring: origin, id: id, root: root)
    case BatchUpload.name:
      try BatchItem.spec(restoring: origin, id: id, self, root: root)
    case ObjectGet.name: try ObjectGet(server: self).spec(restoring: origin, id: id, root: root)
    default:
      throw TransferError(.unsupported, "No transfer comes from \(origin.method).")
    }
  }

  var engine: TransferEngine { sharing.engine }

  /// The sharing if anything has needed it.
  var sharingIfAny: Sharing? { state.withLock { $0.sharing } }

  /// Lays a host's wishes over the present ones; before anything else was asked.
  func adopt(_ configuration: Configuration, _ settings: ServerSettings) {
    state.withLock { state in
      state.configuration = configuration
      state.settings = settings
    }
  }
}
