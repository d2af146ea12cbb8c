package import TransferEngine
package import TransferModel

/// What happens on transfers and channels, in order.
package enum SharingEvent: Sendable {
  case transfer(TransferChange)
  case batch(BatchEvent)
  /// A subscribed channel got a message.
  case message(remote: String, ChannelMessage)
  /// A subscription's connection changed.
  case status(remote: String, SubscriptionState, TransferError?)
}

/// How a subscription stands.
package enum SubscriptionState: String, Sendable, CaseIterable {
  case connected, reconnecting, disconnected, denied
}
