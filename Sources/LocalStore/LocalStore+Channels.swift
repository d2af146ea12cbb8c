package import TransferModel

extension LocalStore {
  // MARK: Files

  /// Makes staged content a file of a channel, under a new id; names may repeat.
  ///
  /// - Parameters:
  ///   - staging: Holds all bytes; used up unless the call fails.
  ///   - channel: Where the file is shared.
  ///   - name: What to call it.
  ///   - contentType: Its MIME type, where known.
  ///   - size: Bytes that were written to the staging.
  ///   - sha256: Lower-case hexadecimal, where computed.
  /// - Returns: The file, with its id.
  /// - Throws: The errors of all calls.
  package func publishFile(
    _ staging: Staging,
    channel: String,
    name: String,
    contentType: String?,
    size: Int64,
    sha256: String?
  ) async throws(TransferError) -> SharedFile {
    let file = NewFile(
      channel: channel,
      name: name,
      contentType: contentType,
      size: size,
      sha256: sha256
    )
    return try await write(staging) { index throws(TransferError) in
      try index.publishFile(staging, file)
    }
  }

  /// Opens a file's content; all that the locator says must be right.
  ///
  /// - Throws: `ERR_NOT_FOUND`; `ERR_INVALID_REFERENCE` for a URL that is none of this store's.
  package func openFile(
    _ locator: FileLocator
  ) async throws(TransferError) -> (content: StoredContent, file: SharedFile) {
    try await read { index throws(TransferError) in
      let key: FileKey
      switch locator {
      case .key(let channel, let id, let name):
        key = FileKey(channel: channel, id: id, name: name)
      case .url(let url):
        key = try index.fileKey(url: url)
      case .message(let channel, let timetoken):
        key = try index.fileKey(channel, timetoken)
      }
      let found = try index.file(key)
      let content = try StoredContent(
        id: key.id,
        size: found.size,
        sha256: found.file.sha256,
        layout: index.layout
      )
      return (content, found.file)
    }
  }

  /// Where a file's content can be had: a `file://` URI, valid until it is deleted.
  ///
  /// - Throws: `ERR_NOT_FOUND`.
  package func fileURL(
    channel: String,
    id: String,
    name: String
  ) async throws(TransferError) -> String {
    let key = FileKey(channel: channel, id: id, name: name)
    _ = try await read { index throws(TransferError) in try index.file(key).file }
    return url(content: id)
  }

  /// Removes a file and its content; its announcements stay in the history, without a URL.
  ///
  /// - Throws: `ERR_NOT_FOUND`.
  package func deleteFile(
    channel: String,
    id: String,
    name: String
  ) async throws(TransferError) {
    let key = FileKey(channel: channel, id: id, name: name)
    try await write { index throws(TransferError) in try index.deleteFile(key) }
  }

  /// One page of a channel's files, oldest first.
  ///
  /// - Parameters:
  ///   - channel: Where the files are shared.
  ///   - limit: From 1; above 1,000 means 1,000.
  ///   - next: What the page before gave; nil: the first page.
  /// - Returns: The page.
  /// - Throws: `ERR_INVALID_ARGUMENT` for a wrong limit or `next`.
  package func listFiles(
    channel: String,
    limit: Int,
    next: String?
  ) async throws(TransferError) -> FilePage {
    let limit = try Self.pageSize(limit)
    return try await read { index throws(TransferError) in
      try index.listFiles(channel, limit: limit, next: next)
    }
  }

  // MARK: Messages

  /// Tells a channel's subscribers of a file, in all processes.
  ///
  /// What is not for the history (`store` false) reaches subscribers for two minutes.
  ///
  /// - Returns: The message's timetoken, greater than all before it in the store.
  /// - Throws: `ERR_NOT_FOUND` where the channel has no such file.
  package func announce(
    _ announcement: Announcement
  ) async throws(TransferError) -> Timetoken {
    try await write { index throws(TransferError) in try index.announce(announcement) }
  }

  /// The newest `limit` stored messages older than `start` and not older than `end`.
  ///
  /// A page ends early after 16 MiB of content.
  ///
  /// - Parameters:
  ///   - channel: Whose history.
  ///   - limit: From 1; above 1,000 means 1,000.
  ///   - start: Exclusive; nil: now.
  ///   - end: Inclusive; nil: the beginning.
  /// - Returns: The messages, oldest first, and the `start` of the next page where there are more.
  /// - Throws: `ERR_INVALID_ARGUMENT` for a wrong limit.
  package func history(
    channel: String,
    limit: Int,
    start: Timetoken?,
    end: Timetoken?
  ) async throws(TransferError) -> (messages: [ChannelMessage], more: Timetoken?) {
    let limit = try Self.pageSize(limit)
    return try await read { index throws(TransferError) in
      try index.history(channel, limit: limit, start: start, end: end)
    }
  }

  /// One stored message.
  ///
  /// - Throws: `ERR_NOT_FOUND`, also for what the history does not keep or keeps no longer.
  package func message(
    channel: String,
    timetoken: Timetoken
  ) async throws(TransferError) -> ChannelMessage {
    try await read { index throws(TransferError) in try index.message(channel, timetoken) }
  }

  /// Removes one stored message from the history; the file stays.
  ///
  /// - Throws: `ERR_NOT_FOUND`.
  package func deleteMessage(
    channel: String,
    timetoken: Timetoken
  ) async throws(TransferError) {
    try await write { index throws(TransferError) in
      try index.deleteMessage(channel, timetoken)
    }
  }

  // MARK: Subscribing

  /// The timetoken of the newest announcement: subscribe after it to get only what comes.
  package func latestTimetoken() async throws(TransferError) -> Timetoken {
    try await read { index throws(TransferError) in try index.latestTimetoken() }
  }

  /// The oldest messages on any of the channels after a timetoken, in order.
  ///
  /// Ask until none come, then wait for the ``bell()``. A page ends early after 16 MiB of content.
  ///
  /// - Parameters:
  ///   - channels: Their names, in any order.
  ///   - after: Exclusive.
  ///   - limit: From 1; above 1,000 means 1,000.
  /// - Returns: The messages, at most `limit`.
  /// - Throws: `ERR_INVALID_ARGUMENT` for a wrong limit.
  package func messages(
    channels: [String],
    after: Timetoken,
    limit: Int
  ) async throws(TransferError) -> [ChannelMessage] {
    let limit = try Self.pageSize(limit)
    return try await read { index throws(TransferError) in
      try index.messages(channels, after: after, limit: limit)
    }
  }

  /// An element whenever something may have been announced by any process; several may become one.
  ///
  /// Take the stream before asking for messages, and nothing is missed. It ends with `close()`.
  package func bell() async throws(TransferError) -> AsyncStream<Void> {
    // Opens the index, and with it makes the file to listen to.
    _ = try await latestTimetoken()
    return try bellListeners.listen()
  }
}
