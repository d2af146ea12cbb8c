internal import Backends
internal import TransferModel

/// What is listened to on one remote, as long as anything is.
protocol Subscription: Actor {
  /// Listens to these too: from `since` on, or from now; ones already listened to go on unless
  /// `since` is given.
  /// - Returns: the timetoken after which messages will come.
  func add(
    _ interest: SubscriptionInterest,
    since: Timetoken?
  ) async throws(TransferError) -> Timetoken
  /// Starts to tell what `add` asked for; after its answer went out.
  func start() async
  /// Listens no longer; both nil: to nothing.
  func remove(channels: [String]?, groups: [String]?)
  /// There are new credentials.
  func reauthorize()
}
