package import Configuration
package import JSONRPC

/// Serving one host from the first byte to the end of the process.
extension Server {
  /// What the command line decides.
  package struct Options: Sendable {
    package var framing: InputFraming
    /// A process to watch beside the parent.
    package var parentPID: Int32?
    /// Where the rare lines for people go.
    package var log: Log
    /// Gets a copy of all that goes in and out.
    package var trace: Trace?
    /// Whether the methods for tests of hosts are served.
    package var enablesTestMethods: Bool

    /// Makes options.
    package init(
      framing: InputFraming,
      parentPID: Int32?,
      log: Log,
      trace: Trace?,
      enablesTestMethods: Bool
    ) {
      self.framing = framing
      self.parentPID = parentPID
      self.log = log
      self.trace = trace
      self.enablesTestMethods = enablesTestMethods
    }
  }

  /// Serves the host on two descriptors; blocks the calling thread and ends the process.
  package static func run(
    input: Int32,
    output: Int32,
    configuration: Configuration,
    workingDirectory: String,
    options: Options
  ) -> Never {
    let limits = Connection.Limits()
    let connection = Connection(
      input: input,
      outbox: Outbox(output: output, trace: options.trace),
      framing: options.framing,
      limits: limits,
      trace: options.trace,
      log: { options.log.warn($0) }
    )
    let server = Server(
      connection: connection,
      limits: limits,
      configuration: configuration,
      workingDirectory: workingDirectory,
      log: options.log
    )
    let lifecycle = Lifecycle(
      server: server,
      output: output,
      log: options.log,
      trace: options.trace
    )
    SignalWatch.start { signal in
      lifecycle.end(128 + signal, because: nil)
    }
    server.outbox.onLost { _ in lifecycle.end(74, because: "nobody reads stdout any more") }
    lifecycle.watch(options.parentPID)
    options.log.info(
      "ferry \(version) serves with \(configuration.sourceName ?? "the built-in configuration")"
    )
    var router = Server.router(server, lifecycle)
    router.registerTestMethods(of: server, areEnabled: options.enablesTestMethods)
    let routes = router
    router.gate = { lifecycle.gate($0, isAlwaysServed: routes.isAlwaysServed($0)) }
    lifecycle.finish(connection.run(router))
  }

  /// All methods; a new one is a line here and a file of its own.
  static func router(_ server: Server, _ lifecycle: Lifecycle) -> Router {
    var router = Router()
    router.register(Initialize(server: server, lifecycle: lifecycle))
    router.register(Shutdown(lifecycle: lifecycle))
    router.register(Ping())
    router.register(Discover())
    router.register(ServerStats(server: server))
    router.register(FileSend(server: server))
    router.register(FilePublish(server: server))
    router.register(FileList(server: server))
    router.register(FileURL(server: server))
    router.register(FileDownload(server: server))
    router.register(FileDelete(server: server))
    router.register(ObjectPut(server: server))
    router.register(ObjectGet(server: server))
    router.register(ObjectRead(server: server))
    router.register(ObjectUpdate(server: server))
    router.register(ObjectURL(server: server))
    router.register(ObjectList(server: server))
    router.register(ObjectDelete(server: server))
    router.register(ObjectResolve(server: server))
    router.register(TransferGet(server: server))
    router.register(TransferList(server: server))
    router.register(TransferCancel(server: server))
    router.register(TransferForget(server: server))
    router.register(TransferPause(server: server))
    router.register(TransferResume(server: server))
    router.register(TransferRetry(server: server))
    router.register(StreamWrite(server: server))
    router.register(StreamRead(server: server))
    router.register(StreamClose(server: server))
    router.register(BatchCreate(server: server))
    router.register(BatchUpload(server: server))
    router.register(BatchConfigure(server: server))
    router.register(BatchRemove(server: server))
    router.register(BatchRetry(server: server))
    router.register(BatchClear(server: server))
    router.register(BatchGet(server: server))
    router.register(BatchAttachments(server: server))
    router.register(BatchSend(server: server))
    router.register(ChannelSubscribe(server: server))
    router.register(ChannelUnsubscribe(server: server))
    router.register(ChannelHistory(server: server))
    router.register(MessageGet(server: server))
    router.register(MessageDelete(server: server))
    router.register(LimitsGet(server: server))
    router.register(LimitsSet(server: server))
    router.register(ReplaceCredentials(server: server))
    return router
  }
}
