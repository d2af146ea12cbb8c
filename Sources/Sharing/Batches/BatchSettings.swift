internal import JSON
package import TransferModel

/// What a host asked of a batch.
package struct BatchSettings: Sendable, Equatable {
  /// Chosen by the host or made by ferry.
  package var id: String
  /// The remote's name in the configuration.
  package var remote: String
  /// Where its files go.
  package var destination: Destination
  /// How it goes about them now.
  package var pace: Pace
  /// How it was to go about them when it was made, by which a second request joins.
  package let asked: Pace
  /// The message it answers in its thread, now and as it was made; only on remotes with threads.
  package var parent: Timetoken?
  package private(set) var askedParent: Timetoken?

  /// Where a batch's files go.
  package enum Destination: Sendable, Equatable {
    case channel(String)
    /// Objects below a reference, which may be the root.
    case prefix(ObjectReference)

    package static func == (left: Destination, right: Destination) -> Bool {
      switch (left, right) {
      case (.channel(let left), .channel(let right)): ExactString(left) == ExactString(right)
      case (.prefix(let left), .prefix(let right)): left == right
      case (.channel, .prefix), (.prefix, .channel): false
      }
    }
  }

  /// How a batch goes about its files.
  package struct Pace: Sendable, Equatable {
    /// Files that move at the same time, at least 1.
    package var concurrency: Int
    /// How often a file that failed is tried again unasked.
    package var retries: Int

    /// Makes a pace.
    package init(concurrency: Int, retries: Int) {
      self.concurrency = concurrency
      self.retries = retries
    }
  }

  /// Makes the settings of a new batch.
  package init(
    id: String,
    remote: String,
    destination: Destination,
    pace: Pace,
    parent: Timetoken? = nil
  ) {
    self.id = id
    self.remote = remote
    self.destination = destination
    self.pace = pace
    asked = pace
    self.parent = parent
    askedParent = parent
  }

  /// The channel; nil for objects.
  package var channel: String? {
    switch destination {
    case .channel(let channel): channel
    case .prefix: nil
    }
  }
}

extension BatchSettings {
  /// Whether a request for a batch of the same id means this one.
  func means(_ other: BatchSettings) -> Bool {
    remote == other.remote && destination == other.destination && asked == other.asked
      && askedParent == other.askedParent
  }

  /// Writes the members that the journal keeps.
  func write(to writer: inout JSONWriter) {
    writer.field("remote", remote)
    switch destination {
    case .channel(let channel): writer.field("channel", channel)
    case .prefix(let reference): writer.field("prefix", reference.fullPath)
    }
    writer.object("pace") { $0.members(of: pace) }
    writer.object("asked") { $0.members(of: asked) }
    writer.field("parent", parent?.value)
    writer.field("askedParent", askedParent?.value)
  }

  /// Reads what `write` wrote.
  init(id: String, _ fields: inout JSONFields) throws(JSONError) {
    let channel = try fields.optionalString("channel")
    let prefix = try fields.optionalString("prefix")
    guard let pace = try fields.optionalObject("pace", Self.pace) else {
      throw fields.missing("pace")
    }
    self.id = id
    remote = try fields.string("remote")
    destination = channel.map { .channel($0) } ?? .prefix(ObjectReference(path: prefix ?? ""))
    self.pace = pace
    asked = try fields.optionalObject("asked", Self.pace) ?? pace
    parent = try fields.optionalInt("parent").map { Timetoken($0) }
    askedParent = try fields.optionalInt("askedParent").map { Timetoken($0) }
  }

  private static func pace(_ fields: inout JSONFields) throws(JSONError) -> Pace {
    try Pace(
      concurrency: Int(fields.int("concurrency")),
      retries: Int(fields.int("retries"))
    )
  }
}

extension JSONWriter {
  fileprivate mutating func members(of pace: BatchSettings.Pace) {
    field("concurrency", pace.concurrency)
    field("retries", pace.retries)
  }
}
