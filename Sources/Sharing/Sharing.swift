package import Backends
internal import Configuration
internal import Synchronization
package import TransferEngine
package import TransferModel

/// Transfers and channels together: everything a host can ask for, and everything it is told.
package final class Sharing: Sendable {
  package let engine: TransferEngine
  /// What happens, in order; one consumer.
  package let events: AsyncStream<SharingEvent>
  /// Uploads that run and are reported together.
  package let batches: Batches

  private let tell: AsyncStream<SharingEvent>.Continuation
  private let gate = FlowGate()
  private let subscriptions = Mutex<[String: any Subscription]>([:])

  /// Composes an engine; it hears all of the engine's changes from now on.
  package init(engine: TransferEngine) {
    self.engine = engine
    (events, tell) = AsyncStream.makeStream(of: SharingEvent.self)
    batches = Batches(engine: engine, tell: tell)
    let batches = batches
    // Lives as long as the engine: it ends with the stream of changes.
    Task(executorPreference: engine.telling) {
      for await change in engine.changes { await batches.forward(change) }
    }
  }

  /// Takes up what earlier processes of the same state left.
  package func restore() async {
    await engine.restore()
    await batches.restore()
  }

  /// Holds back queued transfers and channels' messages while the host does not read.
  package func hold(_ isHeld: Bool) {
    engine.hold(isHeld)
    gate.set(isOpen: !isHeld)
  }

  /// Listens to channels: from `since` on, or from now.
  ///
  /// `accepted` is called with the timetoken after which messages come.
  ///
  /// - Throws: what the remote answers; `ERR_INVALID_ARGUMENT` for an unknown remote.
  package func subscribe(
    to interest: SubscriptionInterest,
    since: Timetoken?,
    remote: String,
    accepted: (Timetoken) -> Void
  ) async throws(TransferError) {
    let subscription: any Subscription
    do throws(TransferError) {
      subscription = try self.subscription(to: remote)
      accepted(try await subscription.add(interest, since: since))
    } catch {
      throw error.during(.subscribe)
    }
    await subscription.start()
  }

  private func subscription(to remote: String) throws(TransferError) -> any Subscription {
    if let known = subscriptions.withLock({ $0[remote] }) { return known }
    let feed = try engine.feed(of: remote)
    return subscriptions.withLock { subscriptions in
      if let known = subscriptions[remote] { return known }
      let tell: @Sendable (SharingEvent) -> Void = { [tell] event in tell.yield(event) }
      let new: any Subscription =
        if let feed {
          FeedSubscription(remote: remote, engine: engine, gate: gate, feed: feed, tell: tell)
        } else {
          BellSubscription(remote: remote, engine: engine, gate: gate, tell: tell)
        }
      subscriptions[remote] = new
      return new
    }
  }

  /// Listens no longer to channels or groups; both nil: to none on the remote.
  package func unsubscribe(
    from channels: [String]?,
    groups: [String]? = nil,
    remote: String
  ) async {
    await subscriptions.withLock { $0[remote] }?.remove(channels: channels, groups: groups)
  }

  /// Replaces what proves to a remote who asks; what is listened to goes on with it at once.
  /// - Throws: `ERR_UNSUPPORTED` where the remote's kind has no such credentials.
  package func replaceCredentials(
    of remote: String,
    by credentials: RemoteCredentials
  ) throws(TransferError) {
    try engine.replaceCredentials(of: remote, by: credentials)
    guard let subscription = subscriptions.withLock({ $0[remote] }) else { return }
    // Ends at once: there is nothing to wait for in it.
    Task { await subscription.reauthorize() }
  }

  /// Ends all subscriptions.
  package func unsubscribeFromAll() async {
    for subscription in subscriptions.withLock({ Array($0.values) }) {
      await subscription.remove(channels: nil, groups: nil)
    }
  }
}
