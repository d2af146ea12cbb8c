package import Configuration
internal import Backends
internal import CometChatBackend
internal import HTTP
internal import LocalStore
internal import PubNubBackend
internal import S3Backend
internal import Synchronization
package import TransferModel

/// The configured remotes, each opened when it is first used.
package final class Remotes: Sendable {
  private let configuration: Configuration
  private let opened = Mutex<[String: Open]>([:])
  private let learning = Mutex<[String: LimitsQuestion]>([:])
  private let client = HTTPClient(userAgent: "ferry")
  private let ownRates: [String: Rates]
  private let traffic: [String: RemoteTraffic]

  /// The caps that hold for one remote beside the global ones.
  struct Rates: Sendable {
    let upload: RateLimiter?
    let download: RateLimiter?
  }

  /// Opens nothing.
  package init(configuration: Configuration) {
    self.configuration = configuration
    traffic = configuration.remotes.reduce(into: [:]) { $0[$1.name] = RemoteTraffic() }
    let global = configuration.limits
    ownRates = configuration.remotes.reduce(into: [:]) { rates, remote in
      let own = remote.limits
      guard own.uploadRate != global.uploadRate || own.downloadRate != global.downloadRate
      else { return }
      rates[remote.name] = Rates(
        upload: own.uploadRate.map { RateLimiter(rate: $0) },
        download: own.downloadRate.map { RateLimiter(rate: $0) }
      )
    }
  }

  /// What went through a remote.
  package func traffic(of name: String) -> RemoteTraffic? { traffic[name] }

  /// The caps of a remote that has its own.
  func rates(of name: String) -> Rates? { ownRates[name] }

  /// The remotes in the order of the configuration.
  package var all: [RemoteConfiguration] { configuration.remotes }

  /// A remote's limits, the global ones where it has none of its own; what the configuration leaves
  /// to the remote is as far as that is known by now (`learnLimits`).
  /// - Throws: `ERR_INVALID_ARGUMENT` for a name that is not configured.
  package func limits(of name: String) throws(TransferError) -> Limits {
    let remote = try remote(name)
    var limits = remote.limits
    if remote.kind == .cometchat, case .http(let link) = try? open(name) {
      let own = link.remote.ownLimits
      limits.maxFileSize = limits.maxFileSize ?? own.maxFileSize
      limits.maxFileCount = limits.maxFileCount ?? own.maxFileCount
    }
    return limits
  }

  /// Whether a remote stores files of no bytes.
  func takesEmptyFiles(_ name: String) -> Bool {
    configuration.remote(named: name)?.kind != .cometchat
  }

  /// Whether a remote announces a file by itself (file/publish).
  func publishesFiles(_ name: String) -> Bool {
    configuration.remote(named: name)?.kind != .cometchat
  }

  /// Whether there is nothing to ask a remote before its limits are known.
  func knowsLimits(of name: String) -> Bool {
    guard let remote = configuration.remote(named: name), remote.kind == .cometchat,
      case .http(let link) = try? open(name)
    else { return true }
    return link.remote.learnLimits() == nil
      || learning.withLock { $0[name]?.isResting ?? false }
  }

  /// Why the limits that a remote sets itself are not known, where they were asked for: the built-in
  /// ones hold until it tells, and it is asked again by and by.
  package func limitsFailure(of name: String) -> TransferError? {
    learning.withLock { $0[name]?.failure }
  }

  /// Has a remote asked again at once: whoever asks may be another.
  func forgetFailure(of name: String) { learning.withLock { $0[name]?.answered() } }

  /// Asks a remote for its limits, once for all who wait.
  func learnLimits(of name: String) async {
    guard !knowsLimits(of: name), case .http(let link) = try? open(name) else { return }
    let task = learning.withLock { questions in
      if let task = questions[name]?.task { return task }
      let task = Task {
        let result = await Result(of: { () async throws(TransferError) in
          if let call = link.remote.learnLimits() { try await link.perform(call) }
        })
        self.learning.withLock { questions in
          switch result {
          case .success: questions[name]?.answered()
          case .failure(let error): questions[name]?.failed(error)
          }
        }
      }
      questions[name, default: LimitsQuestion()].task = task
      return task
    }
    await task.value
  }

  /// The slots a remote has; where it sets none of its own, as many as all remotes together.
  ///
  /// Where a place in a storage is good for a while only, no more than forms that are sent at the
  /// same time: none waits with its place.
  func concurrency(of name: String) throws(TransferError) -> Int {
    let remote = try remote(name)
    let own = remote.limits.concurrency
    let most = own == configuration.limits.concurrency ? .max : own
    switch remote.kind {
    case .local, .s3: return most
    case .pubnub, .cometchat: return min(most, RemoteLink.ceiling)
    }
  }

  /// A remote, opened.
  enum Open {
    case local(LocalStore)
    case http(RemoteLink)
  }

  /// Opens a remote at its first use.
  /// - Throws: `ERR_INVALID_ARGUMENT` for an unknown name, `ERR_CONFIG` for missing variables.
  func open(_ name: String) throws(TransferError) -> Open {
    let remote = try remote(name)
    if let open = opened.withLock({ $0[name] }) { return open }
    let settings = try remote.resolve()
    return try opened.withLock { opened throws(TransferError) in
      if let open = opened[name] { return open }
      let open = try make(remote, settings)
      opened[name] = open
      return open
    }
  }

  private func make(
    _ remote: RemoteConfiguration,
    _ settings: RemoteSettings
  ) throws(TransferError) -> Open {
    switch settings {
    case .local(let root):
      return .local(LocalStore(root: root))
    case .s3(let settings):
      let s3 = S3Remote(settings, environment: configuration.environment)
      return .http(link(to: s3, settings.http, remote))
    case .pubnub(let settings):
      let pubnub = PubNubRemote(settings, maxFileSize: remote.limits.maxFileSize)
      return .http(link(to: pubnub, settings.http, remote))
    case .cometchat(let settings):
      let cometchat = try CometChatRemote(settings, limits: remote.limits)
      return .http(link(to: cometchat, settings.http, remote))
    }
  }

  /// How long an upload may be interrupted before it is given up, in milliseconds; not there where
  /// what is half-made costs nobody anything.
  var patienceWithUploads: [String: Int64] {
    configuration.remotes.reduce(into: [:]) { patience, remote in
      guard case .s3(let settings) = try? remote.resolve() else { return }
      patience[remote.name] = settings.abandonAfterMs
    }
  }

  private func link(
    to http: any HTTPRemote,
    _ settings: HTTPSettings,
    _ remote: RemoteConfiguration
  ) -> RemoteLink {
    let proxy: HTTPProxy =
      switch settings.proxy {
      case .environment: .environment
      case .none: .none
      case .url(let url): .url(url.text)
      }
    return RemoteLink(
      remote: http,
      client: client,
      options: HTTPOptions(
        caFile: settings.caFile,
        proxy: proxy,
        stallTimeout: remote.limits.stallTimeout
      ),
      retries: settings.retries,
      traffic: traffic[remote.name] ?? RemoteTraffic()
    )
  }

  /// The disk of an embedded remote.
  /// - Throws: `ERR_INVALID_ARGUMENT` for an unknown name, `ERR_CONFIG` for missing variables,
  ///   `ERR_UNSUPPORTED` for a remote of another kind.
  func local(_ name: String) throws(TransferError) -> LocalStore {
    switch try open(name) {
    case .local(let store): return store
    case .http:
      throw TransferError(
        .unsupported,
        "\"\(name)\" cannot do this; initialize lists what each remote can."
      )
    }
  }

  /// The conversation that carries a transfer out.
  /// - Throws: what the remote cannot be opened for, or does not take of the request.
  func backend(for spec: TransferSpec) throws(TransferError) -> any Backend {
    switch (try open(spec.remote), spec.operation) {
    case (.local, .putObject(let put)): return LocalUpload(put)
    case (.local, .sendFile(let send)): return LocalUpload(send)
    case (.local, .getObject(let get)): return LocalDownload(get)
    case (.local, .downloadFile(let download)): return LocalDownload(download)
    case (.http(let link), .putObject), (.http(let link), .sendFile):
      return try link.remote.upload(spec)
    case (.http(let link), .getObject), (.http(let link), .downloadFile):
      return try link.remote.download(spec)
    }
  }

  /// Closes what was opened.
  package func close() async {
    let open = opened.withLock { opened in
      defer { opened.removeAll() }
      return Array(opened.values)
    }
    for case .local(let store) in open { await store.close() }
    await client.close()
  }

  private func remote(_ name: String) throws(TransferError) -> RemoteConfiguration {
    if let remote = configuration.remote(named: name) { return remote }
    let names = configuration.remotes.map(\.name).joined(separator: ", ")
    throw TransferError(
      .invalidArgument,
      "There is no remote \"\(name.prefix(64))\"; the configuration has: \(names).",
      field: "/remote"
    )
  }
}

/// What went through one remote since the start.
package final class RemoteTraffic: Sendable {
  private let up = Atomic<Int64>(0)
  private let down = Atomic<Int64>(0)
  private let again = Atomic<Int64>(0)

  /// Bytes sent to the remote.
  package var bytesUp: Int64 { up.load(ordering: .relaxed) }
  /// Bytes fetched from the remote.
  package var bytesDown: Int64 { down.load(ordering: .relaxed) }

  /// Requests that were sent again after a failure.
  package var retries: Int64 { again.load(ordering: .relaxed) }

  func countRetry() { again.add(1, ordering: .relaxed) }

  func count(_ bytes: Int, _ direction: TransferDirection) {
    switch direction {
    case .upload: up.add(Int64(bytes), ordering: .relaxed)
    case .download: down.add(Int64(bytes), ordering: .relaxed)
    }
  }
}
