internal import Glibc

/// Looks once a second whether the process we work for is still there.
package final class ParentWatch: Sendable {
  /// What was noticed.
  package enum Event: Sendable, Equatable {
    /// The process whose id was given is gone. Told once.
    case processGone
    /// Our parent has changed, which means that the one we had is gone. Told at each look from
    /// then on, with the time since it was noticed.
    case orphaned(for: Duration)
  }

  private let isStopped = Monitor(false)

  /// Starts to watch.
  /// - Parameters:
  ///   - processID: a process to watch beside the parent. One that cannot be seen at the start
  ///     (another container's, say) is ignored.
  ///   - interval: the time between two looks.
  ///   - onEvent: called on the watching thread.
  package init(
    processID: Int32? = nil,
    every interval: Duration = .seconds(1),
    onEvent: @escaping @Sendable (Event) -> Void
  ) {
    let parent = getppid()
    let visible = processID.flatMap { $0 > 0 && Self.exists($0) ? $0 : nil }
    DedicatedThread.start("parent-watch") { [isStopped] in
      var watched = visible
      var orphanedSince: ContinuousClock.Instant?
      while true {
        let next = ContinuousClock.now + interval
        let stop = isStopped.wait { stopped in
          stopped || .now >= next ? .done(stopped) : .again(until: next)
        }
        if stop { return }
        if let process = watched, !Self.exists(process) {
          watched = nil
          onEvent(.processGone)
        }
        if getppid() != parent {
          let since = orphanedSince ?? .now
          orphanedSince = since
          onEvent(.orphaned(for: .now - since))
        }
      }
    }
  }

  deinit { stop() }

  /// Stops watching; at most one event that is being told already still comes.
  package func stop() { isStopped.change { $0 = true } }

  /// Whether a process exists; one of another user, which kill(2) may not touch, does.
  private static func exists(_ process: Int32) -> Bool {
    kill(process, 0) == 0 || errno == EPERM
  }
}
