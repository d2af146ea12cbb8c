internal import JSON
internal import JSONRPC
internal import Sharing
internal import TransferEngine
internal import TransferModel

/// Tells the host what happens: every event as a notification, in order, and each waiting request
/// its reply after the event that ends its transfer.
struct Notifier: Sendable {
  let outbox: Outbox
  let sharing: Sharing
  let settings: ServerSettings

  /// Starts to consume the events; they end with the process.
  func start() {
    let reporter = ProgressReporter(
      engine: sharing.engine,
      interval: settings.progressInterval
    )
    outbox.progressSource { reporter.report(to: &$0) }
    outbox.onDrained { [sharing] in sharing.hold(false) }
    let notifier = self
    Task(executorPreference: sharing.engine.telling) {
      for await event in notifier.sharing.events {
        notifier.tell(event, reporter)
        // What is queued waits until the host has read; running transfers go on.
        if notifier.outbox.isCongested {
          notifier.sharing.hold(true)
          // Drained between the two: nobody would say so again.
          if !notifier.outbox.isCongested { notifier.sharing.hold(false) }
        }
      }
    }
  }

  private func tell(_ event: SharingEvent, _ reporter: ProgressReporter) {
    switch event {
    case .transfer(let change):
      tell(change, reporter)
    case .batch(let event):
      tell(event)
    case .message(let remote, let message):
      tell(message, on: remote)
    case .status(let remote, let state, let error):
      outbox.notify("status") { writer in
        writer.field("remote", remote)
        writer.field("state", state.rawValue)
        if let error {
          writer.key("error")
          error.write(to: &writer)
        }
      }
    }
  }

  private func tell(_ change: TransferChange, _ reporter: ProgressReporter) {
    switch change {
    case .accepted(let id, let waiter):
      waiter.answer(.accepted(id))
    case .started(let slot, let attempt, let total):
      outbox.notify("started") { writer in
        writer.subject(slot.id, slot.batchFile)
        writer.field("attempt", attempt)
        writer.key("total")
        if let total { writer.int(total) } else { writer.null() }
      }
      openProgress(of: slot)
    case .paused(let slot, let loaded):
      // First: the writer must not tell progress once this is told.
      slot.set(isOpen: false)
      tellLoaded("paused", slot, loaded)
    case .resumed(let slot, let loaded):
      tellLoaded("resumed", slot, loaded)
      openProgress(of: slot)
    case .settled(let settlement, let waiters):
      outbox.together {
        tell(settlement, reporter)
        for waiter in waiters { waiter.answer(.settled(settlement)) }
      }
    case .joined(let settlement, let waiter):
      waiter.answer(.settled(settlement))
    case .withdrawn(let id, let waiter):
      waiter.answer(.withdrawn(id))
    case .batch:
      break
    case .flushed(let body):
      body()
    }
  }

  private func openProgress(of slot: ProgressSlot) {
    slot.set(isOpen: true)
    outbox.setProgressActive(true)
  }

  private func tellLoaded(_ method: String, _ slot: ProgressSlot, _ loaded: Int64) {
    outbox.notify(method) { writer in
      writer.subject(slot.id, slot.batchFile)
      writer.field("loaded", loaded)
    }
  }

  private func tell(_ settlement: TransferSettlement, _ reporter: ProgressReporter) {
    settlement.slot.set(isOpen: false)
    switch settlement.outcome {
    case .succeeded(let result):
      if let last = reporter.last(of: settlement.slot) {
        outbox.notify("progress") { last.write(to: &$0) }
      }
      tell(result, of: settlement)
    case .failed(let error):
      tell("failure", error, settlement)
    case .rejected(let error):
      tell("error", error, settlement)
    case .cancelled(let error):
      outbox.notify("cancelled") { writer in
        writer.subject(settlement.id, settlement.slot.batchFile)
        writer.key("error")
        error.write(to: &writer, settlement.context)
        writer.field("loaded", settlement.loaded)
        writer.field("resumable", settlement.isResumable)
      }
    }
  }

  private func tell(
    _ method: String,
    _ error: TransferError,
    _ settlement: TransferSettlement
  ) {
    outbox.notify(method) { writer in
      writer.subject(settlement.id, settlement.slot.batchFile)
      writer.key("error")
      error.write(to: &writer, settlement.context)
    }
  }

  private func tell(_ result: TransferResult, of settlement: TransferSettlement) {
    let (id, file) = (settlement.id, settlement.slot.batchFile)
    switch result {
    case .stored(let stored):
      outbox.notify("uploaded") { writer in
        writer.subject(id, file)
        writer.object("object") { writer in
          writer.field("ref", stored.metadata.fullPath)
          writer.metadata("metadata", stored.metadata, bucket: settlement.remote)
          writer.field("url", stored.url)
        }
        if file != nil { writer.attachment("attachment", result) }
        writer.field("sha256", stored.metadata.sha256)
      }
    case .shared(let upload):
      outbox.notify("uploaded") { writer in
        writer.subject(id, file)
        writer.object("file") { $0.sent(upload) }
        if file != nil { writer.attachment("attachment", result) }
        writer.field("sha256", upload.file.sha256)
      }
    case .downloaded(let download):
      outbox.notify("downloaded") { writer in
        writer.subject(id, file)
        writer.download(download)
      }
    }
  }

  private func tell(_ message: ChannelMessage, on remote: String) {
    let content = (message.message?.bytes.count ?? 0) + (message.meta?.bytes.count ?? 0)
    outbox.notify("message") { writer in
      writer.message(message, remote: remote, truncated: content > settings.pageBytes / 2)
    }
  }

  private func tell(_ event: BatchEvent) {
    switch event {
    case .refused(let name, let error, let isDuplicate):
      outbox.notify("error") { writer in
        writer.field("batchId", name.batch)
        writer.field("fileId", name.file)
        if isDuplicate { writer.field("duplicate", true) }
        writer.key("error")
        error.write(to: &writer, .init(batchID: name.batch, fileID: name.file))
      }
    case .completed(let completion):
      outbox.notify("complete") { writer in
        writer.completion(completion, within: settings.pageBytes)
      }
    }
  }
}
