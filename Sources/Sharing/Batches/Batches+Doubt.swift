internal import JSON
internal import TransferEngine
internal import TransferModel

/// Messages that may have been made: none is asked for again before it was looked for.
extension Batches {
  /// Notes that messages are about to be asked for; returns when that is written down.
  /// - Returns: what they replace of what is in doubt.
  func ask(
    _ messages: [Batch.Asked],
    of id: String,
    unfinished: Batch.Unfinished? = nil
  ) async -> [Batch.Asked] {
    let before = try? change(id) { batch in
      let before = batch.ask(messages)
      batch.unfinished = unfinished
      keep(batch)
      return before
    }
    await engine.written()
    return before ?? []
  }

  /// Finds out what became of messages whose answer was lost; `messages` gets those that were made.
  ///
  /// - Throws: `ERR_UNKNOWN_ID`; `ERR_PUBLISH_FAILED` where they cannot be looked for now.
  func settleDoubts(
    of settings: BatchSettings,
    messages: inout [BatchMessage]
  ) async throws(TransferError) {
    let id = settings.id
    let asked = try change(id) { batch in
      batch.asked.filter { $0.files.allSatisfy { batch[$0.id]?.isSending != true } }
    }
    if asked.isEmpty { return }
    let findings: [MessageFinding]
    do throws(TransferError) {
      findings = try await engine.find(asked.map(\.message), on: settings.remote)
    } catch {
      throw .unsent(error, 0, of: asked.reduce(0) { $0 + $1.files.count })
    }
    let moment = engine.nowMs
    for (asked, finding) in zip(asked, findings) {
      switch asked.message.judge(finding, atMs: moment) {
      case .made(let timetoken):
        if let made = await note(asked, timetoken, of: id) { messages.append(made) }
      case .absent:
        _ = try? change(id) { batch in
          guard batch.claim(asked, isMade: false) else { return }
          batch.settle(asked.files)
          keep(batch)
        }
      case .unknown: break
      }
    }
  }

  /// Notes that a message was made.
  /// - Returns: nil where another call is about that, or all its files are gone.
  private func note(
    _ asked: Batch.Asked,
    _ timetoken: Timetoken,
    of id: String
  ) async -> BatchMessage? {
    guard (try? change(id) { $0.claim(asked, isMade: true) }) == true else { return nil }
    for file in asked.files { await engine.announced(file.transfer, at: timetoken) }
    let told = try? change(id) { batch in
      batch.noteTold(asked)
      batch.settle(asked.files)
      keep(batch)
      return asked.files.filter { file in
        guard batch.has(file.transfer, as: file.id) else { return false }
        batch.change(file.id) { file in
          file.isSending = false
          file.isSent = true
        }
        return true
      }
    }
    guard let told, !told.isEmpty else { return nil }
    return BatchMessage(
      id: timetoken.description,
      kind: asked.kind,
      files: told.map(\.id),
      muid: asked.message.muid
    )
  }

  /// - Throws: `ERR_PUBLISH_FAILED` where files were left out because nobody can tell whether they
  ///   are announced already; only those of the kind where any is.
  func checkDoubts(of id: String, _ kind: AttachmentKind? = nil) throws(TransferError) {
    let inDoubt = try? change(id) { batch in
      batch.all.filter { $0.isInDoubt && !$0.isSending && (kind ?? $0.kind) == $0.kind }.map(\.id)
    }
    guard let inDoubt, let first = inDoubt.first else { return }
    var error = TransferError(
      .publishFailed,
      "Whether \(inDoubt.count) files (\"\(first)\"\(inDoubt.count > 1 ? ", …" : "")) are announced "
        + "is not known: the answer was lost, and the channel cannot tell. Look there, then remove "
        + "them (batch/remove) or announce them again (fileIds of batch/send).",
      phase: .publish
    )
    error.retryableOverride = false
    throw error
  }
}
