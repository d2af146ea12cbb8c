internal import Configuration
internal import Synchronization
package import TransferEngine
package import TransferModel

/// Transfers and channels together: everything a host can ask for, and everything it is told.
package final class Sharing: Sendable {
  package let engine: TransferEngine
  /// What happens, in order; one consumer.
  package let events: AsyncStream<SharingEvent>

  private let tell: AsyncStream<SharingEvent>.Continuation
  private let gate = FlowGate()
  private let subscriptions = Mutex<[String: Subscription]>([:])

  /// Composes an engine; it hears all of the engine's changes from now on.
  package init(engine: TransferEngine) {
    self.engine = engine
    (events, tell) = AsyncStream.makeStream(of: SharingEvent.self)
    let tell = tell
    // Lives as long as the engine: it ends with the stream of changes.
    Task {
      for await change in engine.changes { tell.yield(.transfer(change)) }
    }
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
    to channels: [String],
    since: Timetoken?,
    remote: String,
    accepted: (Timetoken) -> Void
  ) async throws(TransferError) {
    let subscription = subscriptions.withLock { subscriptions in
      if let subscription = subscriptions[remote] { return subscription }
      let subscription = Subscription(remote: remote, engine: engine, gate: gate) { [tell] event in
        tell.yield(event)
      }
      subscriptions[remote] = subscription
      return subscription
    }
    do throws(TransferError) {
      accepted(try await subscription.add(channels, since: since))
    } catch {
      throw error.during(.subscribe)
    }
    await subscription.start()
  }

  /// Listens no longer to channels; nil: to none on the remote.
  package func unsubscribe(from channels: [String]?, remote: String) async {
    await subscriptions.withLock { $0[remote] }?.remove(channels)
  }

  /// Ends all subscriptions.
  package func unsubscribeFromAll() async {
    for subscription in subscriptions.withLock({ Array($0.values) }) {
      await subscription.remove(nil)
    }
  }
}
