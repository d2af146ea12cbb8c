import CCurl
import CLinux
import Glibc
import Synchronization
import TransferModel

/// The thread that owns libcurl: runs the jobs of its actor, then libcurl, then waits for either.
final class CurlThread: SerialExecutor {
  private let userAgent: String
  private let limits: HTTPLimits
  private let state = Mutex(State())
  /// Set when the thread starts and left alone until it has ended; only the thread, and the jobs
  /// it runs, look at it.
  private nonisolated(unsafe) var current: CurlLoop?

  private struct State {
    var jobs: [UnownedJob] = []
    var cancelled: [Int] = []
    /// Requests between their beginning and their end, which need the thread.
    var entrants = 0
    var isRunning = false
    var isClosing = false
    /// What wakes the thread, only while it waits.
    var sleeper: Waker?
    var whenEnded: [@Sendable () -> Void] = []
    var statistics = HTTPStatistics()
  }

  /// libcurl's one function for other threads; valid as long as its loop.
  // Sendable because the pointer is given to `curl_multi_wakeup` alone, which any thread may call.
  private struct Waker: @unchecked Sendable {
    let multi: UnsafeMutableRawPointer
  }

  private enum Next { case again, wait, end([@Sendable () -> Void]) }

  init(userAgent: String, limits: HTTPLimits) {
    self.userAgent = userAgent
    self.limits = limits
  }

  var statistics: HTTPStatistics { state.withLock { $0.statistics } }

  /// For jobs only, which run while it is there.
  var loop: CurlLoop {
    guard let current else { preconditionFailure("only jobs of the thread ask for its loop") }
    return current
  }

  /// Keeps the thread running until `leave`; starts it where there is none.
  /// - Throws: `ERR_CONFIG` without libcurl, `ERR_SHUTTING_DOWN` after `close`.
  func enter() throws(TransferError) {
    // Once per process this takes some milliseconds.
    try CurlLibrary.load()
    try state.withLock { state throws(TransferError) in
      if state.isClosing { throw .closing }
      if !state.isRunning { try start() }
      state.isRunning = true
      state.entrants += 1
    }
  }

  func leave() {
    state.withLock { state in
      state.entrants -= 1
      if state.entrants == 0, state.isClosing { Self.wake(&state) }
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { state in
      state.jobs.append(job)
      Self.wake(&state)
    }
  }

  /// Ends a request early, if it is still under way.
  func cancel(_ id: Int) {
    state.withLock { state in
      state.cancelled.append(id)
      Self.wake(&state)
    }
  }

  /// Ends the thread, and all requests before; tells when it is gone.
  func close(ended: @escaping @Sendable () -> Void = {}) {
    let isRunning = state.withLock { state in
      state.isClosing = true
      if state.isRunning { state.whenEnded.append(ended) }
      Self.wake(&state)
      return state.isRunning
    }
    if !isRunning { ended() }
  }

  /// Under the lock, so that the loop is still there.
  private static func wake(_ state: inout State) {
    guard let sleeper = state.sleeper else { return }
    _ = ccurl_multi_wakeup(sleeper.multi)
    state.sleeper = nil
  }

  private func start() throws(TransferError) {
    var thread = pthread_t()
    // The thread takes over this one retain.
    let me = Unmanaged.passRetained(self)
    let code = pthread_create(
      &thread,
      nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<CurlThread>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      },
      me.toOpaque()
    )
    guard code == 0 else {
      me.release()
      throw TransferError(
        .unknown,
        "Cannot start a thread: \(String(cString: strerror(code))); raise the limit (ulimit -u)."
      )
    }
    pthread_detach(thread)
  }

  private func run() {
    clinux_name_thread("http")
    let loop = CurlLoop(userAgent: userAgent, limits: limits, before: statistics)
    current = loop
    var jobs: [UnownedJob] = []
    var cancelled: [Int] = []
    while true {
      let isClosing = state.withLock { state in
        // Both arrays keep their room.
        swap(&state.jobs, &jobs)
        swap(&state.cancelled, &cancelled)
        return state.isClosing
      }
      for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
      for id in cancelled { loop.cancel(id) }
      jobs.removeAll(keepingCapacity: true)
      cancelled.removeAll(keepingCapacity: true)
      if isClosing { loop.failAll(.closing) }
      loop.turn()
      switch next(loop) {
      case .again: continue
      case .wait: loop.wait()
      case .end(let waiting):
        loop.close()
        for tell in waiting { tell() }
        return
      }
      state.withLock { $0.sleeper = nil }
    }
  }

  private func next(_ loop: CurlLoop) -> Next {
    state.withLock { state in
      state.statistics = loop.statistics
      guard state.jobs.isEmpty, state.cancelled.isEmpty else { return .again }
      if state.entrants == 0, state.isClosing || loop.isIdleForLong {
        // From here on another thread may be started.
        current = nil
        state.isRunning = false
        state.statistics.connectionsOpen = 0
        defer { state.whenEnded = [] }
        return .end(state.whenEnded)
      }
      state.sleeper = Waker(multi: loop.multi)
      return .wait
    }
  }
}

extension TransferError {
  static var cancelledRequest: TransferError {
    TransferError(.cancelled, "The request was cancelled.")
  }

  static var closing: TransferError {
    TransferError(.shuttingDown, "ferry is shutting down; ask again in a new process.")
  }
}

/// libcurl as a library that is loaded at first use.
enum CurlLibrary {
  /// - Throws: `ERR_CONFIG` where it is not installed or too old.
  static func load() throws(TransferError) {
    guard let reason = ccurl_load() else { return }
    throw TransferError(
      .config,
      "libcurl cannot be used, which every remote but a local one needs: install libcurl 7.87 or"
        + " newer (apt-get install libcurl4). The reason: \(String(cString: reason))."
    )
  }
}
