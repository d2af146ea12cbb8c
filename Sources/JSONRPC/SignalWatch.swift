internal import CLinux
internal import Glibc
internal import Synchronization

/// Turns the signals that end a process into one call, and the second of them into the end.
package enum SignalWatch {
  /// The signals hosts and terminals stop a process with.
  package static let endingSignals: [Int32] = [SIGTERM, SIGINT, SIGHUP]

  /// Starts to watch; once per process.
  ///
  /// The second signal ends the process at once with the code 128 + signal, whatever its threads
  /// are blocked on.
  /// - Parameters:
  ///   - signals: the signals to catch.
  ///   - handler: called with the first one, on a thread of its own.
  package static func start(
    _ signals: [Int32] = endingSignals,
    _ handler: @escaping @Sendable (Int32) -> Void
  ) {
    var ends: [Int32] = [-1, -1]
    guard pipe2(&ends, O_CLOEXEC) == 0 else {
      preconditionFailure("no pipe for signals: errno \(errno)")
    }
    let input = ends[0]
    // Both values are touched here, so that the handler never is the one to initialise them.
    seen.store(0, ordering: .relaxed)
    wakeUp.store(ends[1], ordering: .releasing)
    for signal in signals {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { caught($0) }
      action.sa_flags = Int32(SA_RESTART)
      sigaction(signal, &action, nil)
    }
    DedicatedThread.start("signals") {
      var byte: UInt8 = 0
      while true {
        let count = read(input, &byte, 1)
        if count == 1 { return handler(Int32(byte)) }
        guard count < 0, errno == EINTR else { return }
      }
    }
  }
}

/// Where the handler writes.
private let wakeUp = Atomic<Int32>(-1)
private let seen = Atomic<Int32>(0)

/// The handler: only calls that signal-safety(7) allows.
private func caught(_ signal: Int32) {
  let saved = errno
  if seen.add(1, ordering: .relaxed).oldValue > 0 { _exit(128 + signal) }
  var byte = UInt8(truncatingIfNeeded: signal)
  _ = write(wakeUp.load(ordering: .acquiring), &byte, 1)
  errno = saved
}
