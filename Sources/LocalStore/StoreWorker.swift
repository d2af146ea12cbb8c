import Synchronization
import TransferModel

/// The thread all work on a store's index is done by, started at the first call.
final class StoreWorker: Sendable {
  private let layout: StoreLayout
  private let mailbox = Mailbox<IndexJob>()
  private let life = Mutex(Life())

  private struct Life {
    var isStarted = false
    var isEnded = false
    /// To be told when the thread has ended.
    var waiting: [@Sendable () -> Void] = []
  }

  init(layout: StoreLayout) { self.layout = layout }

  /// Has a job done; it is answered in any case.
  func submit(_ job: IndexJob) {
    guard mailbox.put(job) else {
      return job.refuse(TransferError(.shuttingDown, "the store \(layout.root) is closed"))
    }
    let mustStart = life.withLock { life in
      defer { life.isStarted = true }
      return !life.isStarted
    }
    guard mustStart else { return }
    do throws(TransferError) {
      try OwnThread.start { [self] in run() }
    } catch {
      life.withLock { $0.isStarted = false }
      for job in mailbox.take(atMost: .max) { job.refuse(error) }
    }
  }

  /// Takes no more jobs and ends the thread after those it has.
  func close(ended: @escaping @Sendable () -> Void = {}) {
    mailbox.close()
    let isEnded = life.withLock { life in
      if life.isStarted && !life.isEnded {
        life.waiting.append(ended)
        return false
      }
      return true
    }
    if isEnded { ended() }
  }

  private func run() {
    var index: Index?
    while true {
      let jobs = mailbox.take(atMost: 256)
      if jobs.isEmpty { break }
      do throws(TransferError) {
        // Somebody removed the store: begin a new one rather than write to files without names.
        if let open = index, !open.lock.exists { index = nil }
        if index == nil { index = try Index(layout: layout) }
        index?.perform(jobs)
      } catch {
        for job in jobs { job.refuse(error) }
      }
    }
    index?.finish()
    index = nil
    let waiting = life.withLock { life in
      life.isEnded = true
      defer { life.waiting = [] }
      return life.waiting
    }
    for tell in waiting { tell() }
  }
}
