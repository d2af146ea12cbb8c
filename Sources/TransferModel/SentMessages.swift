package import JSON

/// Messages that a request sent, as far as they fit a line.
package struct SentMessages: Sendable, Equatable {
  /// The first of them, each as JSON.
  package var messages: [RawJSON]
  /// How many there are in all.
  package var count: Int

  /// Whether `messages` has not all of them.
  package var isTruncated: Bool { messages.count < count }

  /// Makes a list.
  package init(messages: [RawJSON], count: Int) {
    self.messages = messages
    self.count = count
  }
}
