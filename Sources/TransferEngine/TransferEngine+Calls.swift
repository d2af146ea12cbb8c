internal import LocalStore
package import TransferModel

/// What a remote is asked beside transfers.
extension TransferEngine {
  /// What is known of an object.
  /// - Throws: `ERR_NOT_FOUND`.
  package func metadata(
    of reference: ObjectReference,
    on remote: String
  ) async throws(TransferError) -> ObjectMetadata {
    try await remotes.local(remote).metadata(reference)
  }

  /// Changes what the uploader said of an object.
  /// - Throws: `ERR_NOT_FOUND`.
  package func update(
    _ reference: ObjectReference,
    _ patch: MetadataPatch,
    on remote: String
  ) async throws(TransferError) -> ObjectMetadata {
    try await remotes.local(remote).update(reference, patch)
  }

  /// Where an object can be had, usable as it is.
  /// - Throws: `ERR_NOT_FOUND`.
  package func url(
    of reference: ObjectReference,
    on remote: String
  ) async throws(TransferError) -> String {
    try await remotes.local(remote).objectURL(reference)
  }

  /// Removes an object.
  /// - Throws: `ERR_NOT_FOUND`.
  package func delete(
    _ reference: ObjectReference,
    on remote: String
  ) async throws(TransferError) {
    do throws(TransferError) {
      try await remotes.local(remote).deleteObject(reference)
    } catch {
      throw error.during(.delete)
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
    do throws(TransferError) {
      return try await remotes.local(remote).listObjects(
        below: reference,
        recursive: recursive,
        limit: limit,
        next: next
      )
    } catch {
      throw error.during(.list)
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
    do throws(TransferError) {
      return try await remotes.local(remote).listFiles(channel: channel, limit: limit, next: next)
    } catch {
      throw error.during(.list)
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
    try await remotes.local(remote).fileURL(channel: channel, id: id, name: name)
  }

  /// Removes a channel's file.
  /// - Throws: `ERR_NOT_FOUND`.
  package func deleteFile(
    _ id: String,
    name: String,
    channel: String,
    remote: String
  ) async throws(TransferError) {
    do throws(TransferError) {
      try await remotes.local(remote).deleteFile(channel: channel, id: id, name: name)
    } catch {
      throw error.during(.delete)
    }
  }

  /// Tells a channel's subscribers of a file that is stored already.
  /// - Throws: `ERR_NOT_FOUND`.
  package func announce(
    _ announcement: Announcement,
    on remote: String
  ) async throws(TransferError) -> Timetoken {
    do throws(TransferError) {
      return try await remotes.local(remote).announce(announcement)
    } catch {
      throw error.during(.publish)
    }
  }

  /// A page of a channel's messages, oldest first, and the `start` of the page before it.
  package func history(
    of channel: String,
    limit: Int,
    start: Timetoken?,
    end: Timetoken?,
    remote: String
  ) async throws(TransferError) -> (messages: [ChannelMessage], more: Timetoken?) {
    try await remotes.local(remote).history(
      channel: channel,
      limit: limit,
      start: start,
      end: end
    )
  }

  /// One stored message.
  /// - Throws: `ERR_NOT_FOUND`.
  package func message(
    on channel: String,
    at timetoken: Timetoken,
    remote: String
  ) async throws(TransferError) -> ChannelMessage {
    try await remotes.local(remote).message(channel: channel, timetoken: timetoken)
  }

  /// Removes one stored message.
  /// - Throws: `ERR_NOT_FOUND`.
  package func deleteMessage(
    on channel: String,
    at timetoken: Timetoken,
    remote: String
  ) async throws(TransferError) {
    do throws(TransferError) {
      try await remotes.local(remote).deleteMessage(channel: channel, timetoken: timetoken)
    } catch {
      throw error.during(.delete)
    }
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
}
