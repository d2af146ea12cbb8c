/// What goes with a request that the request itself does not hold: files, pace and time limits.
package struct HTTPTraffic: Sendable {
  /// How the remote is reached.
  package var options: HTTPOptions
  /// What `.source` pieces of the body are read from.
  package var source: HTTPSource?
  /// What a `.target` sink writes to.
  package var target: HTTPTarget?
  /// The most bytes worth sending at once, at most the number given and at least 1.
  package var slice: @Sendable (Int) -> Int
  /// Takes so many bytes and returns zero, or takes none and says how long to wait before asking
  /// again; the connection is left alone meanwhile, and nobody calls that a stall.
  package var admit: @Sendable (Int) -> Duration
  /// Told how many bytes more have moved: of `.source` pieces where the body has any, else of the
  /// body of a 2xx answer.
  ///
  /// Negative where a request is sent again from its start. What moved for a request that is then
  /// refused or fails stays told, for whoever asks again to take back. All of it that belongs to a
  /// target is written when `send` returns.
  package var moved: @Sendable (Int64) -> Void

  /// Without arguments, what a short question needs.
  package init(
    options: HTTPOptions = HTTPOptions(),
    source: HTTPSource? = nil,
    target: HTTPTarget? = nil,
    slice: @escaping @Sendable (Int) -> Int = { $0 },
    admit: @escaping @Sendable (Int) -> Duration = { _ in .zero },
    moved: @escaping @Sendable (Int64) -> Void = { _ in }
  ) {
    self.options = options
    self.source = source
    self.target = target
    self.slice = slice
    self.admit = admit
    self.moved = moved
  }
}

/// How a remote is reached.
package struct HTTPOptions: Sendable, Equatable {
  /// A file of PEM certificates that are trusted beside the system's; read once per process.
  package var caFile: String?
  /// What stands between.
  package var proxy: HTTPProxy
  /// How long no byte may move while a body is sent or received.
  package var stallTimeout: Duration
  /// How long finding, reaching and proving the remote may take.
  package var connectTimeout: Duration
  /// Whether a connection of its own is made: for asking again after a reused one died.
  package var isFresh: Bool

  /// Without arguments, what a remote without configuration is reached with.
  package init(
    caFile: String? = nil,
    proxy: HTTPProxy = .environment,
    stallTimeout: Duration = .seconds(30),
    connectTimeout: Duration = .seconds(10),
    isFresh: Bool = false
  ) {
    self.caFile = caFile
    self.proxy = proxy
    self.stallTimeout = stallTimeout
    self.connectTimeout = connectTimeout
    self.isFresh = isFresh
  }
}

/// What stands between this process and a remote.
package enum HTTPProxy: Sendable, Equatable {
  /// What `http_proxy` (lower-case only), `https_proxy`, `all_proxy` and `no_proxy` say.
  case environment
  /// Nothing, whatever the environment says.
  case none
  /// An `http://`, `https://` or `socks5h://` URL, perhaps with a password: never to be logged.
  case url(String)
}

/// What an upload reads.
///
/// Descriptors are their owner's, who closes them after `send` has returned.
package enum HTTPSource: Sendable {
  /// An open file and what messages call it.
  case descriptor(Int32, name: String)
  /// All of the source.
  case bytes([UInt8])
}

/// An open file that a download writes to, by offset, and what messages call it.
package struct HTTPTarget: Sendable {
  /// Its owner's, who closes it after `send` has returned.
  package var descriptor: Int32
  /// What messages call it.
  package var name: String

  /// Names an open file.
  package init(descriptor: Int32, name: String) {
    self.descriptor = descriptor
    self.name = name
  }
}
