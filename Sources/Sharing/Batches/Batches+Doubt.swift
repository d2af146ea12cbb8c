internal import JSON
internal import TransferEngine
internal import TransferModel

/// Messages that may have been made: none is asked for again before it was looked for.
extension Batches {
  /// Notes that messages are about to be asked for; returns when that is written down.
  func ask(
    _ messages: [Batch.Asked],
    of id: String,
    unfinished: Batch.Unfinished? = nil
  ) async {
    _ = try? change(id) { batch in
      batch.ask(messages)
      batch.unfinished = unfinished
      keep(batch)
    }
    await engine.written()
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
    for (asked, finding) in zip(asked, findings) where finding != .unknown {
      if case .made(let timetoken) = finding, let made = await note(asked, timetoken, of: id) {
        messages.append(made)
      }
      _ = try? change(id) { batch in
        batch.settle(asked.files)
        keep(batch)
      }
    }
  }

  /// Notes that a message was made.
  /// - Returns: nil where that was known of all its files.
  private func note(
    _ asked: Batch.Asked,
    _ timetoken: Timetoken,
    of id: String
  ) async -> BatchMessage? {
    let told = try? change(id) { batch in
      batch.unfinished?.sent += 1
      batch.unfinished?.files.removeAll(where: asked.files.map { ExactString($0.id) }.contains)
      return asked.files.filter { file in
        let isNew = batch.has(file.transfer, as: file.id) && batch[file.id]?.isSent == false
        if isNew { batch.change(file.id) { $0.isSent = true } }
        return isNew
      }
    }
    guard let told, !told.isEmpty else { return nil }
    for file in told { await engine.announced(file.transfer, at: timetoken) }
    return BatchMessage(
      id: timetoken.description,
      kind: asked.kind,
      files: told.map(\.id),
      muid: asked.message.muid
    )
  }

  /// - Throws: `ERR_PUBLISH_FAILED` where files were left out because nobody can tell whether they
  ///   are announced already.
  func checkDoubts(of id: String) throws(TransferError) {
    let inDoubt = try? change(id) { batch in
      batch.all.filter { $0.isInDoubt && !$0.isSending }.map(\.id)
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
