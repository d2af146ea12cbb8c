import CCurl
import CLinux
import Glibc
import Synchronization
import TransferModel

/// The thread that owns libcurl: runs what it is given, then libcurl, then waits for either.
final class CurlThread: Sendable {
  /// Something to do on the thread, with its loop.
  typealias Job = @Sendable (CurlLoop) -> Void

  private let userAgent: String
  private let limits: HTTPLimits
  private let state = Mutex(State())

  private struct State {
    var jobs: [Job] = []
    var cancelled: [Int] = []
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

  /// Has the thread do something; starts it where there is none.
  /// - Throws: `ERR_CONFIG` without libcurl, `ERR_SHUTTING_DOWN` after `close`.
  func run(_ job: @escaping Job) throws(TransferError) {
    // Once per process this takes some milliseconds.
    try CurlLibrary.load()
    try state.withLock { state throws(TransferError) in
      if state.isClosing { throw .closing }
      if !state.isRunning { try start() }
      state.isRunning = true
      state.jobs.append(job)
      Self.wake(&state)
    }
  }

  /// Ends a request early, if it is still under way.
  func cancel(_ id: Int) {
    state.withLock { state in
      // Without a thread there is nothing to end.
      guard state.isRunning else { return }
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
        Unmanaged<CurlThread>.fromOpaque(argument).takeRetainedValue().main()
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

  private func main() {
    clinux_name_thread("http")
    let loop = CurlLoop(userAgent: userAgent, limits: limits, before: statistics)
    var jobs: [Job] = []
    var cancelled: [Int] = []
    while true {
      let isClosing = state.withLock { state in
        // Both arrays keep their room.
        swap(&state.jobs, &jobs)
        swap(&state.cancelled, &cancelled)
        return state.isClosing
      }
      for job in jobs { job(loop) }
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
      if loop.isIdle, state.isClosing || loop.isIdleForLong {
        // From here on another thread may be started.
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
