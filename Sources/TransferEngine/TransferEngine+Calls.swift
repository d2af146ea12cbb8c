package import Backends
internal import LocalStore
package import TransferModel

/// What a remote is asked beside transfers.
extension TransferEngine {
  /// The object that a URL (`gs:`, `s3:`, `https:` …) names.
  /// - Throws: `ERR_INVALID_REFERENCE` for a URL of another store.
  package func reference(
    _ url: String,
    on remote: String
  ) throws(TransferError) -> ObjectReference {
    switch try remotes.open(remote) {
    case .http(let link): return try link.remote.reference(url)
    case .local:
      throw TransferError(
        .invalidReference,
        "\"\(remote)\" is a local remote: name its objects by a path below its root, not by a URL.",
        field: "/ref"
      )
    }
  }

  /// Replaces what proves who asks, for every request from now on.
  /// - Throws: `ERR_UNSUPPORTED` where the remote's kind has no such credentials.
  package func replaceCredentials(
    of remote: String,
    by credentials: RemoteCredentials
  ) throws(TransferError) {
    switch try remotes.open(remote) {
    case .http(let link):
      try link.remote.replaceCredentials(by: credentials)
      remotes.forgetFailure(of: remote)
    case .local:
      throw TransferError(.unsupported, "\"\(remote)\" is a local remote and needs no credentials.")
    }
  }

  /// What is known of an object.
  /// - Throws: `ERR_NOT_FOUND`.
  package func metadata(
    of reference: ObjectReference,
    on remote: String
  ) async throws(TransferError) -> ObjectMetadata {
    switch try remotes.open(remote) {
    case .local(let store): try await store.metadata(reference)
    case .http(let link): try await link.perform(link.remote.metadata(reference))
    }
  }

  /// Changes what the uploader said of an object.
  /// - Throws: `ERR_NOT_FOUND`.
  package func update(
    _ reference: ObjectReference,
    _ patch: MetadataPatch,
    on remote: String
  ) async throws(TransferError) -> ObjectMetadata {
    switch try remotes.open(remote) {
    case .local(let store): try await store.update(reference, patch)
    case .http(let link): try await link.perform(link.remote.update(reference, patch))
    }
  }

  /// Where an object can be had, usable as it is; `expiresIn` is in seconds, and nil leaves it to
  /// the remote.
  /// - Throws: `ERR_NOT_FOUND` where the remote looks.
  package func url(
    of reference: ObjectReference,
    expiresIn: Int64?,
    on remote: String
  ) async throws(TransferError) -> SignedURL {
    switch try remotes.open(remote) {
    case .local(let store): SignedURL(try await store.objectURL(reference))
    case .http(let link):
      try await link.perform(
        link.remote.url(of: reference, expiresIn: expiresIn, nowMs: RemoteLink.nowMs)
      )
    }
  }

  /// Removes an object.
  /// - Throws: `ERR_NOT_FOUND`.
  package func delete(
    _ reference: ObjectReference,
    on remote: String
  ) async throws(TransferError) {
    try await during(.delete) { () async throws(TransferError) in
      switch try remotes.open(remote) {
      case .local(let store): try await store.deleteObject(reference)
      case .http(let link): try await link.perform(link.remote.delete(reference))
      }
    }
  }

  /// One page of the objects below a reference.
  /// - Throws: `ERR_INVALID_ARGUMENT` for a wrong `next`.
  package func listObjects(
    below reference: ObjectReference,
    recursive: Bool,
    limit: Int,
    next: String?,
    on remote: String
  ) async throws(TransferError) -> ObjectPage {
    try await during(.list) { () async throws(TransferError) in
      switch try remotes.open(remote) {
      case .local(let store):
        try await store.listObjects(
          below: reference,
          recursive: recursive,
          limit: limit,
          next: next
        )
      case .http(let link):
        try await link.perform(
          link.remote.listObjects(below: reference, recursive: recursive, limit: limit, next: next)
        )
      }
    }
  }

  /// One page of a channel's files.
  /// - Throws: `ERR_INVALID_ARGUMENT` for a wrong `next`.
  package func listFiles(
    on channel: String,
    limit: Int,
    next: String?,
    remote: String
  ) async throws(TransferError) -> FilePage {
    try await during(.list) { () async throws(TransferError) in
      switch try remotes.open(remote) {
      case .local(let store):
        try await store.listFiles(channel: channel, limit: limit, next: next)
      case .http(let link):
        try await link.perform(
          link.remote.listFiles(channel: channel, limit: limit, next: next)
        )
      }
    }
  }

  /// A channel as its remote spells it; asks nobody.
  /// - Throws: `ERR_INVALID_ARGUMENT` for what the remote has no channels of.
  package func channel(_ name: String, on remote: String) throws(TransferError) -> String {
    switch try remotes.open(remote) {
    case .local: name
    case .http(let link): try link.remote.channel(name)
    }
  }

  /// Where a channel's file can be had, usable as it is.
  /// - Throws: `ERR_NOT_FOUND`.
  package func url(
    ofFile id: String,
    name: String,
    channel: String,
    remote: String
  ) async throws(TransferError) -> String {
    switch try remotes.open(remote) {
    case .local(let store): try await store.fileURL(channel: channel, id: id, name: name)
    case .http(let link):
      try await link.perform(
        link.remote.fileURL(channel: channel, id: id, name: name, nowMs: RemoteLink.nowMs)
      )
    }
  }

  /// Removes a channel's file.
  /// - Throws: `ERR_NOT_FOUND`.
  package func deleteFile(
    _ id: String,
    name: String,
    channel: String,
    remote: String
  ) async throws(TransferError) {
    try await during(.delete) { () async throws(TransferError) in
      switch try remotes.open(remote) {
      case .local(let store): try await store.deleteFile(channel: channel, id: id, name: name)
      case .http(let link):
        try await link.perform(link.remote.deleteFile(channel: channel, id: id, name: name))
      }
    }
  }

  /// Tells a channel's subscribers of a file that is stored already.
  /// - Throws: `ERR_NOT_FOUND`.
  package func announce(
    _ announcement: Announcement,
    on remote: String
  ) async throws(TransferError) -> Timetoken {
    try await during(.publish) { () async throws(TransferError) in
      switch try remotes.open(remote) {
      case .local(let store): try await store.announce(announcement)
      case .http(let link):
        try await link.perform(link.remote.announce(announcement, nowMs: RemoteLink.nowMs))
      }
    }
  }

  /// A message as a remote would send it, with its muid; asks nobody.
  /// - Throws: `ERR_INVALID_ARGUMENT` for more than the remote takes, `ERR_UNSUPPORTED`.
  package func complete(
    _ message: MediaMessage,
    on remote: String
  ) throws(TransferError) -> MediaMessage {
    guard case .http(let link) = try remotes.open(remote) else { throw .unsupportedMedia(remote) }
    return try link.remote.complete(message)
  }

  /// Tells a channel's members of files that are stored already, by one message.
  package func send(
    _ message: MediaMessage,
    on remote: String
  ) async throws(TransferError) -> Timetoken {
    try await during(.publish) { () async throws(TransferError) in
      guard case .http(let link) = try remotes.open(remote) else {
        throw .unsupportedMedia(remote)
      }
      return try await link.perform(link.remote.send(message))
    }
  }

  /// A page of a channel's messages, oldest first, and the `start` of the page before it.
  package func history(
    of channel: String,
    limit: Int,
    start: Timetoken?,
    end: Timetoken?,
    cipherKey: Secret?,
    remote: String
  ) async throws(TransferError) -> (messages: [ChannelMessage], more: Timetoken?) {
    switch try remotes.open(remote) {
    case .local(let store):
      return try await store.history(channel: channel, limit: limit, start: start, end: end)
    case .http(let link):
      let page = try await link.perform(
        link.remote.history(
          channel: channel,
          limit: limit,
          start: start,
          end: end,
          cipherKey: cipherKey
        )
      )
      return (page.messages, page.more)
    }
  }

  /// One stored message.
  /// - Throws: `ERR_NOT_FOUND`.
  package func message(
    on channel: String,
    at timetoken: Timetoken,
    remote: String
  ) async throws(TransferError) -> ChannelMessage {
    switch try remotes.open(remote) {
    case .local(let store): try await store.message(channel: channel, timetoken: timetoken)
    case .http(let link):
      try await link.perform(link.remote.message(channel: channel, timetoken: timetoken))
    }
  }

  /// Removes one stored message.
  /// - Throws: `ERR_NOT_FOUND`.
  package func deleteMessage(
    on channel: String,
    at timetoken: Timetoken,
    remote: String
  ) async throws(TransferError) {
    try await during(.delete) { () async throws(TransferError) in
      switch try remotes.open(remote) {
      case .local(let store):
        try await store.deleteMessage(channel: channel, timetoken: timetoken)
      case .http(let link):
        try await link.perform(link.remote.deleteMessage(channel: channel, timetoken: timetoken))
      }
    }
  }

  /// A new way to listen to a remote that is spoken to over HTTP; nil for an embedded one, which
  /// has a bell.
  /// - Throws: `ERR_UNSUPPORTED` where the kind cannot be subscribed to.
  package func feed(of remote: String) throws(TransferError) -> (any SubscriptionFeed)? {
    switch try remotes.open(remote) {
    case .local: nil
    case .http(let link): try link.remote.feed()
    }
  }

  /// Asks a remote that is spoken to over HTTP.
  package func perform<Value>(
    _ call: RemoteCall<Value>,
    on remote: String
  ) async throws(TransferError) -> Value {
    switch try remotes.open(remote) {
    case .local: preconditionFailure("the embedded remote speaks no HTTP")
    case .http(let link): try await link.perform(call)
    }
  }

  /// Sends questions of a feed, at the same time.
  package func ask(
    _ requests: [HTTPRequest],
    on remote: String
  ) async throws(TransferError) -> [HTTPResponse] {
    try await perform(
      .askAll(requests) { responses throws(TransferError) in .done(responses) },
      on: remote
    )
  }

  /// The newest message's timetoken on a remote.
  package func latestTimetoken(on remote: String) async throws(TransferError) -> Timetoken {
    try await remotes.local(remote).latestTimetoken()
  }

  /// Messages after a timetoken on any of the channels, in order.
  package func messages(
    on channels: [String],
    after: Timetoken,
    limit: Int,
    remote: String
  ) async throws(TransferError) -> [ChannelMessage] {
    try await remotes.local(remote).messages(channels: channels, after: after, limit: limit)
  }

  /// An element whenever a remote may have new messages.
  package func bell(of remote: String) async throws(TransferError) -> AsyncStream<Void> {
    try await remotes.local(remote).bell()
  }

  /// Places what fails in a phase.
  private func during<Value>(
    _ phase: TransferError.Phase,
    _ body: () async throws(TransferError) -> Value
  ) async throws(TransferError) -> Value {
    do throws(TransferError) {
      return try await body()
    } catch {
      throw error.during(phase)
    }
  }
}

extension TransferError {
  fileprivate static func unsupportedMedia(_ remote: String) -> TransferError {
    TransferError(.unsupported, "\"\(remote)\" announces files one by one.")
  }
}
