import CLinux
import Glibc
import LocalFiles
import TransferModel

/// The two threads that do a store's disk work: one syncs staged bytes, one owns the index.
///
/// A large sync may take seconds; on a thread of its own it delays neither reads nor announcements.
final class StoreWorker: Sendable {
  private let index: LazyThread<IndexJob>
  private let sync: LazyThread<IndexJob>

  /// How many jobs share a sync and a transaction at most.
  private static let groupSize = 256

  init(layout: StoreLayout) {
    let index = LazyThread { mailbox in Self.work(mailbox, layout) }
    self.index = index
    sync = LazyThread { mailbox in
      while true {
        let jobs = mailbox.take(atMost: Self.groupSize)
        if jobs.isEmpty { return }
        Self.hand(Self.synced(jobs), to: index)
      }
    }
  }

  /// Has a job done; it is answered in any case.
  func submit(_ job: IndexJob) {
    do throws(TransferError) {
      let isDurable = try job.staging?.beginPublishing() ?? true
      Self.hand([job], to: isDurable ? index : sync)
    } catch {
      job.refuse(error)
    }
  }

  /// Takes no more jobs; tells when those it has are done and the threads are gone.
  func close(ended: @escaping @Sendable () -> Void) {
    sync.close { [index] in index.close(ended: ended) }
  }

  private static func hand(_ jobs: [IndexJob], to thread: LazyThread<IndexJob>) {
    do throws(TransferError) {
      try thread.put(jobs)
    } catch {
      for job in jobs { job.fail(error) }
    }
  }

  /// Makes the jobs' bytes durable; gives those where that went well and fails the others.
  ///
  /// From nine parts on, one syncfs(2) is cheaper than an fdatasync(2) for each: 23 against 130 to
  /// 300 µs a part, and one wait for the CPU instead of many where others want it too. For fewer
  /// it is not worth waiting for what other programs have written.
  private static func synced(_ jobs: [IndexJob]) -> [IndexJob] {
    if jobs.count > 8, let first = jobs.first?.staging {
      // Where it fails, the parts are asked one by one which of them it was.
      if clinux_syncfs(first.descriptor) == 0 { return jobs }
    }
    return jobs.filter { job in
      do throws(TransferError) {
        try job.staging?.sync()
        return true
      } catch {
        job.fail(error)
        return false
      }
    }
  }

  private static func work(_ mailbox: Mailbox<IndexJob>, _ layout: StoreLayout) {
    var index: Index?
    while true {
      let jobs = mailbox.take(atMost: groupSize)
      if jobs.isEmpty { break }
      do throws(TransferError) {
        // Somebody removed the store: begin a new one rather than write to files without names.
        if let open = index, !open.lock.exists { index = nil }
        if index == nil { index = try Index(layout: layout) }
        index?.perform(jobs)
      } catch {
        for job in jobs { job.fail(error) }
      }
    }
    index?.finish()
  }
}
