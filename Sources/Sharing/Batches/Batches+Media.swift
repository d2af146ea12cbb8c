package import JSON
internal import Configuration
internal import TransferEngine
package import TransferModel

/// What a host says of the media messages of a batch.
package struct MediaRequest: Sendable {
  /// Only these files; nil: all.
  package var files: [String]?
  /// Whether each kind of attachment gets messages of its own; `kind` then picks the files of one,
  /// and otherwise is what the messages are shown as.
  package var isSplit = true
  package var kind: AttachmentKind?
  /// Of the first message.
  package var caption: String?
  /// Of the first message; `-2`, `-3` and so on are added for those after it.
  package var muid: String?
  /// Of every message, a JSON object.
  package var metadata: RawJSON?
  /// Of every message.
  package var tags: [String] = []

  /// Asks for messages of all files, one per kind.
  package init() {}
}

/// Media messages, which show several files at once.
extension Batches {
  /// Tells of what is uploaded and not yet sent: one message per kind of attachment, cut where it
  /// would have more files, or be longer, than the remote takes.
  ///
  /// All messages are looked at before the first is sent, and each is written down before it is. One
  /// whose answer was lost is looked for first. `messages` gets what was sent, also where not all could
  /// be; the same request again then goes on with the rest.
  ///
  /// - Throws: as `send`; `ERR_INVALID_ARGUMENT` for more than a message takes.
  package func send(
    media request: MediaRequest,
    of id: String,
    messages: inout [BatchMessage]
  ) async throws(TransferError) {
    let settings = try settings(of: id)
    _ = try settings.told
    try await settleDoubts(of: settings, messages: &messages)
    let isFound = !messages.isEmpty
    let kind = request.isSplit ? request.kind : nil
    let picked = try pick(request.files, kind, of: id, orNone: isFound)
    let stored = await engine.snapshots(of: picked.map(\.transfer)).compactMapValues(\.result)
    var sent: Set<TransferID> = []
    var inDoubt: Set<TransferID> = []
    defer {
      for file in picked where !sent.contains(file.transfer) {
        let left = inDoubt.contains(file.transfer) ? nil : stored[file.transfer]
        end(file, of: settings, left, isSent: false)
      }
    }
    var told = try change(id) { batch in
      let doubts = batch.unfinishedDoubts
      let goesOn = batch.unfinished?.means(request, picked, isFound || doubts > 0) == true
      return goesOn ? (batch.unfinished?.sent ?? 0) + doubts : 0
    }
    for planned in try plan(request, picked, stored, settings, told: told) {
      let message = planned.without { !isThere($0, in: id) }
      if message.files.isEmpty { continue }
      let asked = message.asked(atMs: engine.nowMs)
      let before = await ask(
        [asked],
        of: id,
        unfinished: .init(
          caption: request.caption,
          muid: request.muid,
          files: picked.filter { !sent.contains($0.transfer) }.map { ExactString($0.id) },
          sent: told
        )
      )
      do throws(TransferError) {
        let timetoken = try await engine.send(message.content, on: settings.remote)
        for file in message.files {
          await engine.announced(file.transfer, at: timetoken)
          end(file, of: settings, nil, isSent: true)
          sent.insert(file.transfer)
        }
        told += 1
        _ = try? change(id) { $0.settle(asked.files) }
        messages.append(
          BatchMessage(
            id: timetoken.description,
            kind: message.content.kind,
            files: message.files.map(\.id),
            muid: message.content.muid
          )
        )
      } catch {
        if error.leavesDoubt {
          inDoubt.formUnion(message.files.map(\.transfer))
        } else {
          _ = try? change(id) { batch in
            batch.withdraw(asked.files, before: before)
            keep(batch)
          }
        }
        throw .unsent(error, sent.count, of: picked.count)
      }
    }
    _ = try? change(id) { batch in
      batch.unfinished = nil
      keep(batch)
    }
    if request.files == nil { try checkDoubts(of: id, kind) }
  }

  /// A message that is to be sent, with the files it shows.
  private struct Planned {
    var content: MediaMessage
    var files: [Batch.File]

    /// By what it is found where its answer is lost.
    func asked(atMs moment: Int64) -> Batch.Asked {
      Batch.Asked(
        message: AskedMessage(
          channel: content.channel,
          fileIDs: content.attachments.map(\.file.id),
          muid: content.muid,
          parent: content.parent,
          askedMs: moment
        ),
        kind: content.kind,
        files: files.map { Batch.Asked.File($0) }
      )
    }

    /// The message without files that are gone.
    func without(_ isGone: (Batch.File) -> Bool) -> Planned {
      let rest = files.indices.filter { !isGone(files[$0]) }
      var message = self
      message.files = rest.map { files[$0] }
      message.content.attachments = rest.map { content.attachments[$0] }
      return message
    }
  }

  /// The messages that files make, in the order they are sent; `told` of the same request are sent.
  private func plan(
    _ request: MediaRequest,
    _ picked: [Batch.File],
    _ stored: [TransferID: TransferResult],
    _ settings: BatchSettings,
    told: Int
  ) throws(TransferError) -> [Planned] {
    let most = try engine.remotes.limits(of: settings.remote).maxFileCount ?? .max
    var plan: [Planned] = []
    for (kind, files) in Self.groups(request, picked) {
      var rest = files.compactMap { file -> (file: Batch.File, shown: Attachment)? in
        guard case .shared(let shared) = stored[file.transfer], let url = shared.url
        else { return nil }
        return (file, Attachment(shared.file, url: url))
      }[...]
      while !rest.isEmpty {
        var message = try request.message(told + plan.count, kind, settings)
        var content: MediaMessage?
        var count = 0
        while count < min(most, rest.count) {
          message.attachments.append(rest[rest.startIndex + count].shown)
          do throws(TransferError) {
            content = try engine.complete(message, on: settings.remote)
          } catch {
            // What one file is too long for, the request has to change.
            guard count > 0 else { throw error }
            break
          }
          count += 1
        }
        guard let content else { break }
        plan.append(Planned(content: content, files: rest.prefix(count).map(\.file)))
        rest = rest.dropFirst(count)
      }
    }
    return plan
  }

  /// Files by what their messages are shown as.
  private static func groups(
    _ request: MediaRequest,
    _ files: [Batch.File]
  ) -> [(AttachmentKind, [Batch.File])] {
    guard !request.isSplit else {
      return AttachmentKind.allCases.map { kind in (kind, files.filter { $0.kind == kind }) }
    }
    let kinds = Set(files.map(\.kind))
    return [(request.kind ?? (kinds.count == 1 ? kinds.first : nil) ?? .file, files)]
  }
}

extension MediaRequest {
  /// The message of a number, from 0, still without files.
  fileprivate func message(
    _ index: Int,
    _ kind: AttachmentKind,
    _ settings: BatchSettings
  ) throws(TransferError) -> MediaMessage {
    MediaMessage(
      channel: try settings.told,
      kind: kind,
      attachments: [],
      caption: index == 0 ? caption : nil,
      metadata: metadata,
      tags: tags,
      muid: muid.map { index == 0 ? $0 : "\($0)-\(index + 1)" },
      parent: settings.parent
    )
  }
}

extension Batch.Unfinished {
  /// Whether a request is the one that was left unfinished: it has files of it, or a message of it
  /// was just found, or is in doubt.
  fileprivate func means(
    _ request: MediaRequest,
    _ picked: [Batch.File],
    _ isKnown: Bool
  ) -> Bool {
    let files = Set(files)
    return caption == request.caption && muid == request.muid
      && (isKnown || picked.contains { files.contains(ExactString($0.id)) })
  }
}
