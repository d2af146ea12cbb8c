internal import JSON
internal import Synchronization
internal import TransferEngine
package import TransferModel

/// What is asked of a batch's files once they are uploaded.
extension Batches {
  /// Files in the order they were added, of those that fit.
  ///
  /// At most `limit`; `place` is that of the file before the first.
  /// - Throws: `ERR_UNKNOWN_ID`.
  package func page(
    of id: String,
    behind place: Int64,
    limit: Int,
    where fits: (_ state: TransferState, _ kind: AttachmentKind, _ file: String) -> Bool
  ) async throws(TransferError) -> BatchPage {
    let (isIdle, counts, files) = try change(id) { batch in
      var files: [(Batch.File, refusal: TransferError?)] = []
      for file in batch.files(behind: place) where fits(file.state, file.kind, file.id) {
        files.append((file, batch.refusals[file.id]))
        if files.count > limit { break }
      }
      return (batch.isIdle, batch.counts, files)
    }
    return BatchPage(
      isIdle: isIdle,
      counts: counts,
      files: await entries(of: Array(files.prefix(limit))),
      hasMore: files.count > limit
    )
  }

  /// Announces what is uploaded and not yet sent, of the files named where any are, one after the
  /// other in the order they were added.
  ///
  /// What is about to be announced is written down before, and looked for where its answer was lost.
  /// `announcement` makes what is told of a file; `messages` gets what was announced, also where not
  /// all could be.
  ///
  /// - Throws: `ERR_UNKNOWN_ID`; `ERR_UNSUPPORTED` for a batch of objects; `ERR_INVALID_ARGUMENT`
  ///   where there is nothing to send; `ERR_PUBLISH_FAILED`.
  package func send(
    _ id: String,
    _ names: [String]?,
    announcement: (_ channel: String, SharedFile) -> Announcement,
    messages: inout [BatchMessage]
  ) async throws(TransferError) {
    let settings = try settings(of: id)
    let channel = try settings.told
    try await settleDoubts(of: settings, messages: &messages)
    let picked = try pick(names, of: id, orNone: !messages.isEmpty)
    var sent = 0
    var failure: TransferError?
    for chunk in picked.chunks(of: 256) {
      let stored =
        failure == nil
        ? await engine.snapshots(of: chunk.map(\.transfer)).compactMapValues(\.result) : [:]
      let told = chunk.compactMap { file -> Told? in
        guard case .shared(let shared) = stored[file.transfer] else { return nil }
        return Told(file: file, announcement: announcement(channel, shared.file))
      }
      let before = await ask(told.map { $0.asked(atMs: engine.nowMs) }, of: id)
      let announcements = Dictionary(uniqueKeysWithValues: told.map { ($0.file.transfer, $0) })
      for file in chunk {
        var isSent = false
        var isInDoubt = false
        defer {
          if !isInDoubt {
            _ = try? change(id) { $0.withdraw([.init(file)], before: isSent ? [] : before) }
          }
          end(file, of: settings, isInDoubt ? nil : stored[file.transfer], isSent: isSent)
        }
        guard failure == nil, isThere(file, in: id), let told = announcements[file.transfer] else {
          continue
        }
        do throws(TransferError) {
          let timetoken = try await engine.announce(told.announcement, on: settings.remote)
          isSent = true
          sent += 1
          await engine.announced(file.transfer, at: timetoken)
          messages.append(
            BatchMessage(id: timetoken.description, kind: file.kind, files: [file.id])
          )
        } catch {
          failure = error
          isInDoubt = error.leavesDoubt
        }
      }
      _ = try? change(id) { keep($0) }
    }
    if let failure { throw .unsent(failure, sent, of: picked.count) }
    if names == nil { try checkDoubts(of: id) }
  }

  /// A file that is to be announced.
  private struct Told {
    let file: Batch.File
    let announcement: Announcement

    /// By what it is found where its answer is lost.
    func asked(atMs moment: Int64) -> Batch.Asked {
      Batch.Asked(
        message: AskedMessage(
          channel: announcement.channel,
          fileIDs: [announcement.fileID],
          askedMs: moment,
          isKept: announcement.store,
          expiresMs: announcement.ttlHours > 0
            ? moment + announcement.ttlHours * 3_600_000 : nil
        ),
        kind: file.kind,
        files: [.init(file)]
      )
    }
  }

  /// Picks files to announce; `orNone` where something was done already, should there be none.
  func pick(
    _ names: [String]?,
    _ kind: AttachmentKind? = nil,
    of id: String,
    orNone: Bool
  ) throws(TransferError) -> [Batch.File] {
    let (picked, unknown) = try change(id) { batch in
      let unknown = names?.first { batch[$0] == nil }
      return (unknown == nil ? batch.beginSending(names, kind) : [], unknown)
    }
    if let unknown {
      throw TransferError(
        .unknownID,
        "Batch \"\(id)\" has no file \"\(unknown)\".",
        field: "/fileIds"
      )
    }
    if picked.isEmpty, names == nil { try checkDoubts(of: id, kind) }
    guard orNone || !picked.isEmpty else {
      throw TransferError(
        .invalidArgument,
        "Nothing of batch \"\(id)\" is uploaded and not yet sent; batch/get shows its files.",
        field: names == nil ? "/batchId" : "/fileIds"
      )
    }
    return picked
  }

  /// Whether nobody has removed a file since it was picked, or its batch.
  func isThere(_ file: Batch.File, in id: String) -> Bool {
    (try? change(id) { $0.has(file.transfer, as: file.id) }) ?? false
  }

  /// A file that was picked is told of, or not; then what is stored of one that was removed meanwhile
  /// goes too.
  func end(
    _ file: Batch.File,
    of settings: BatchSettings,
    _ stored: TransferResult?,
    isSent: Bool
  ) {
    let isThere = (try? change(settings.id) { $0.endSending(file, isSent: isSent) }) ?? false
    if !isThere, !isSent, !file.isInDoubt, let stored { delete([(settings.remote, stored)]) }
  }
}

extension BatchSettings {
  /// The channel that is told of the files.
  /// - Throws: `ERR_UNSUPPORTED` for a batch of objects.
  var told: String {
    get throws(TransferError) {
      if let channel { return channel }
      throw TransferError(
        .unsupported,
        "Batch \"\(id)\" puts objects, which nobody is told of; make a batch with a channel to send."
      )
    }
  }
}

extension TransferError {
  /// Not all could be announced.
  static func unsent(_ error: TransferError, _ sent: Int, of all: Int) -> TransferError {
    var failure = TransferError(
      .publishFailed,
      "\(sent) of \(all) files are announced: \(error.message) Send the batch again to announce the "
        + "others.",
      phase: .publish
    )
    failure.cause = .init(code: error.code, httpStatus: error.httpStatus)
    failure.serverCode = error.serverCode
    failure.serverMessage = error.serverMessage
    failure.retryableOverride = error.isRetryable
    failure.retryAfterMs = error.retryAfterMs
    return failure
  }
}
