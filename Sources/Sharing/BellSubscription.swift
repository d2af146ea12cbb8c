internal import Backends
internal import JSON
internal import TransferEngine
internal import TransferModel

/// The channels that are listened to on one embedded remote.
///
/// One loop reads new messages in the remote's order whenever its bell rings; each channel has
/// its own cursor, so that channels come and go without losing or repeating a message.
actor BellSubscription: Subscription {
  private let remote: String
  private let engine: TransferEngine
  private let gate: FlowGate
  private let tell: @Sendable (SharingEvent) -> Void
  private var cursors: [ExactString: Timetoken] = [:]
  private var loop: Task<Void, Never>?
  private var isReading = false
  private var isStale = false

  /// The most messages read at once.
  private static let pageSize = 100

  init(
    remote: String,
    engine: TransferEngine,
    gate: FlowGate,
    tell: @escaping @Sendable (SharingEvent) -> Void
  ) {
    self.remote = remote
    self.engine = engine
    self.gate = gate
    self.tell = tell
  }

  func add(
    _ interest: SubscriptionInterest,
    since: Timetoken?
  ) async throws(TransferError) -> Timetoken {
    for (field, isGiven) in [
      ("groups", !interest.groups.isEmpty), ("filter", interest.filter != nil),
    ] where isGiven {
      throw TransferError(
        .invalidArgument,
        "\(field) is not for local remotes; leave it out.",
        field: "/" + field
      )
    }
    let channels = interest.channels
    try await listen()
    let from: Timetoken
    if let since { from = since } else { from = try await engine.latestTimetoken(on: remote) }
    // Another call may have ended the loop meanwhile; nothing is awaited between this and the
    // cursors, which keep it.
    while loop == nil { try await listen() }
    for channel in channels where since != nil || cursors[channel] == nil {
      cursors[channel] = from
    }
    return from
  }

  func start() async { await read() }

  func remove(channels: [String]?, groups: [String]?) {
    let all = groups == nil ? cursors.keys.map(\.text) : []
    for channel in channels ?? all { cursors[channel] = nil }
    guard cursors.isEmpty, let loop else { return }
    loop.cancel()
    self.loop = nil
    tell(.status(remote: remote, .disconnected, nil))
  }

  func reauthorize() {}

  private func listen() async throws(TransferError) {
    guard loop == nil else { return }
    let bell = try await engine.bell(of: remote)
    guard loop == nil else { return }
    tell(.status(remote: remote, .connected, nil))
    loop = Task { [weak self] in
      for await _ in bell {
        guard let self, !Task.isCancelled else { return }
        await self.read()
      }
    }
  }

  /// Reads until nothing is new.
  ///
  /// A call during another one makes that one look again.
  private func read() async {
    isStale = true
    guard !isReading else { return }
    isReading = true
    defer { isReading = false }
    while isStale {
      isStale = false
      do throws(TransferError) {
        while try await readPage() {}
      } catch {
        tell(.status(remote: remote, .disconnected, error))
        loop?.cancel()
        loop = nil
        cursors.removeAll()
      }
    }
  }

  /// Reads one page; returns whether there may be more.
  private func readPage() async throws(TransferError) -> Bool {
    await gate.pass()
    guard let oldest = cursors.values.min() else { return false }
    let wanted = cursors.keys.map(\.text)
    let page = try await engine.messages(
      on: wanted,
      after: oldest,
      limit: Self.pageSize,
      remote: remote
    )
    for message in page {
      // Removed or moved on while the page was read.
      guard let cursor = cursors[message.channel], cursor < message.timetoken else { continue }
      cursors[message.channel] = message.timetoken
      tell(.message(remote: remote, message))
    }
    guard let last = page.last?.timetoken else { return false }
    // All asked for have been read up to here; one added meanwhile keeps its own cursor.
    for channel in wanted {
      if let cursor = cursors[channel], cursor >= oldest, cursor < last { cursors[channel] = last }
    }
    // A page may be cut by its bytes, so only an empty one is the end.
    return !page.isEmpty
  }
}
