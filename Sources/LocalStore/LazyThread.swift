import Synchronization
import TransferModel

/// A thread of the store's own, where blocking is allowed: started by the first job, ended after
/// the last one when closed.
final class LazyThread<Job: Sendable>: Sendable {
  private let mailbox = Mailbox<Job>()
  private let body: @Sendable (Mailbox<Job>) -> Void
  private let life = Mutex(Life())

  private struct Life {
    var isRunning = false
    /// To be told when the thread has ended.
    var waiting: [@Sendable () -> Void] = []
  }

  /// Takes what the thread does: take jobs until none come.
  init(_ body: @escaping @Sendable (Mailbox<Job>) -> Void) { self.body = body }

  /// Hands jobs over.
  ///
  /// - Throws: `ERR_SHUTTING_DOWN` once closed, `ERR_UNKNOWN` where no thread can be started.
  func put(_ jobs: [Job]) throws(TransferError) {
    // Started before the jobs are in its hands: what cannot start has taken nothing.
    try life.withLock { life throws(TransferError) in
      guard !life.isRunning else { return }
      try OwnThread.start { [self] in run() }
      life.isRunning = true
    }
    guard mailbox.put(jobs) else {
      throw TransferError(.shuttingDown, "the store is closed")
    }
  }

  /// Takes no more jobs; tells when those it has are done and the thread is gone.
  func close(ended: @escaping @Sendable () -> Void) {
    mailbox.close()
    let isRunning = life.withLock { life in
      if life.isRunning { life.waiting.append(ended) }
      return life.isRunning
    }
    if !isRunning { ended() }
  }

  private func run() {
    body(mailbox)
    let waiting = life.withLock { life in
      life.isRunning = false
      defer { life.waiting = [] }
      return life.waiting
    }
    for tell in waiting { tell() }
  }
}
