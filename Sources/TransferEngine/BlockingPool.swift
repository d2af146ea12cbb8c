internal import Dispatch
internal import Glibc

/// Threads for work that blocks: reading and writing files, hashing.
///
/// A task that prefers this executor runs here between its suspensions, so plain blocking calls
/// in it never hold one of the runtime's few cooperative threads. Threads start with the first
/// job and stay.
package final class BlockingPool: TaskExecutor {
  private let jobs = Guarded(Jobs())
  private let wake = DispatchSemaphore(value: 0)
  private let width: Int

  private struct Jobs {
    var waiting = Line<UnownedJob>()
    var count = 0
    var threads = 0
    var idle = 0
  }

  /// A pool of a number of threads; by default as many as processors, from 2 to 4.
  package init(width: Int = max(2, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN))))) {
    self.width = width
  }

  /// Queues a job for the next free thread.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let startsThread = jobs.withLock { jobs in
      jobs.waiting.append(job)
      jobs.count += 1
      guard jobs.count > jobs.idle, jobs.threads < width else { return false }
      jobs.threads += 1
      return true
    }
    if startsThread { startThread() }
    wake.signal()
  }

  private func startThread() {
    var thread = pthread_t()
    // The thread keeps the pool alive: it lives as long as the process.
    let context = Unmanaged.passRetained(self).toOpaque()
    let status = pthread_create(
      &thread,
      nil,
      { context in
        if let context { Unmanaged<BlockingPool>.fromOpaque(context).takeUnretainedValue().run() }
        return nil
      },
      context
    )
    precondition(status == 0, "no thread for file work: \(String(cString: strerror(status)))")
    pthread_detach(thread)
  }

  private func run() {
    while true {
      jobs.withLock { $0.idle += 1 }
      wake.wait()
      let job = jobs.withLock { jobs in
        jobs.idle -= 1
        jobs.count -= 1
        return jobs.waiting.popFirst()
      }
      job?.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
