package import Configuration
internal import LocalStore
internal import Synchronization
package import TransferModel

/// The configured remotes, each opened when it is first used.
package final class Remotes: Sendable {
  private let configuration: Configuration
  private let stores = Mutex<[String: LocalStore]>([:])
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

  /// A remote's limits, the global ones where it has none of its own.
  /// - Throws: `ERR_INVALID_ARGUMENT` for a name that is not configured.
  package func limits(of name: String) throws(TransferError) -> Limits {
    try remote(name).limits
  }

  /// The slots a remote has; where it sets none of its own, as many as all remotes together.
  func concurrency(of name: String) throws(TransferError) -> Int {
    let own = try limits(of: name).concurrency
    return own == configuration.limits.concurrency ? .max : own
  }

  /// The disk of an embedded remote.
  /// - Throws: `ERR_INVALID_ARGUMENT` for an unknown name, `ERR_CONFIG` for missing variables,
  ///   `ERR_UNSUPPORTED` for a remote that has no disk here.
  func local(_ name: String) throws(TransferError) -> LocalStore {
    let remote = try remote(name)
    switch try remote.resolve() {
    case .local(let root):
      return stores.withLock { stores in
        if let store = stores[name] { return store }
        let store = LocalStore(root: root)
        stores[name] = store
        return store
      }
    case .s3:
      throw TransferError(
        .unsupported,
        "Remote \"\(name)\" is of a kind that cannot do this; initialize lists what each can.",
        field: "/remote"
      )
    }
  }

  /// Closes what was opened.
  package func close() async {
    let open = stores.withLock { stores in
      defer { stores.removeAll() }
      return Array(stores.values)
    }
    for store in open { await store.close() }
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

  /// Bytes sent to the remote.
  package var bytesUp: Int64 { up.load(ordering: .relaxed) }
  /// Bytes fetched from the remote.
  package var bytesDown: Int64 { down.load(ordering: .relaxed) }

  func count(_ bytes: Int, _ direction: TransferDirection) {
    switch direction {
    case .upload: up.add(Int64(bytes), ordering: .relaxed)
    case .download: down.add(Int64(bytes), ordering: .relaxed)
    }
  }
}
