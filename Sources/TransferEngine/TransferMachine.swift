internal import TransferModel

/// The life of one transfer: an event in, an action out; no clock, no I/O.
struct TransferMachine {
  private(set) var state: State = .queued(attempt: 1, begun: false)

  /// A new transfer.
  init() {}

  /// One that an earlier process left, as its row says.
  init(restoring visible: TransferState, attempt: Int) {
    state = visible.isSettled ? .settled(attempt: attempt, visible) : .interrupted(attempt: attempt)
  }

  /// `begun`: whether this attempt has been announced by `started`.
  enum State: Equatable {
    /// Waiting for a slot. Next: running, paused, settled.
    case queued(attempt: Int, begun: Bool)
    /// Next: stopping, paused (never directly), settled.
    case running(attempt: Int)
    /// Asked to stop, still running. Next: paused, queued, settled.
    case stopping(attempt: Int, Intent)
    /// Next: queued, settled.
    case paused(attempt: Int, begun: Bool)
    /// Left by an earlier process. Next: queued, settled.
    case interrupted(attempt: Int)
    /// Next: queued, by a retry of a failed one.
    case settled(attempt: Int, TransferState)
  }

  /// Why a running transfer is asked to stop.
  enum Intent: Equatable {
    case pause
    /// Paused and resumed again before it had stopped.
    case resume
    case cancel
    /// The process ends; a later one may go on.
    case suspend
  }

  /// What the engine has to do.
  enum Action: Equatable {
    case none
    /// Run it; `announces`: this is the attempt's first run.
    case start(attempt: Int, announces: Bool)
    /// Ask the run to stop.
    case stop
    /// It is paused: give up its slot or its place in the queue and say so.
    case pause
    /// Put it in the queue; `resumed`: say so.
    case enqueue(resumed: Bool)
    /// It was paused and resumed while its run stopped: say both and queue it.
    case pauseAndEnqueue
    /// It is over.
    case settle(TransferState)
    /// It is over for this process, and kept for a later one.
    case suspend
  }

  /// How a run came to its end.
  enum RunEnd: Equatable {
    case succeeded, stopped
    case failed(rejected: Bool)
  }

  /// The state as hosts see it.
  var visible: TransferState {
    switch state {
    case .queued: .queued
    case .running, .stopping: .running
    case .paused: .paused
    case .interrupted: .interrupted
    case .settled(_, let end): end
    }
  }

  /// The state it is on its way to, for whoever has just asked for it.
  var intended: TransferState {
    switch state {
    case .stopping(_, .pause): .paused
    case .stopping(_, .cancel), .stopping(_, .suspend): .cancelled
    case .stopping(_, .resume), .queued, .running, .paused, .interrupted, .settled: visible
    }
  }

  /// Whether it is queued or running.
  var isActive: Bool {
    switch state {
    case .queued, .running, .stopping: true
    case .paused, .interrupted, .settled: false
    }
  }

  /// Whether it rests and a resume or a retry would queue it.
  var canGoOn: Bool {
    switch state {
    case .paused, .interrupted, .settled(_, .failed): true
    case .queued, .running, .stopping, .settled: false
    }
  }

  var attempt: Int {
    switch state {
    case .queued(let attempt, _), .running(let attempt), .stopping(let attempt, _),
      .paused(let attempt, _), .interrupted(let attempt), .settled(let attempt, _):
      attempt
    }
  }

  /// A slot is free.
  mutating func admit() -> Action {
    switch state {
    case .queued(let attempt, let begun):
      state = .running(attempt: attempt)
      return .start(attempt: attempt, announces: !begun)
    case .running, .stopping, .paused, .interrupted, .settled:
      return .none
    }
  }

  mutating func pause() -> Action {
    switch state {
    case .queued(let attempt, let begun):
      state = .paused(attempt: attempt, begun: begun)
      return .pause
    case .running(let attempt):
      state = .stopping(attempt: attempt, .pause)
      return .stop
    case .stopping(let attempt, .resume):
      state = .stopping(attempt: attempt, .pause)
      return .none
    case .stopping, .paused, .interrupted, .settled:
      return .none
    }
  }

  mutating func resume() -> Action {
    switch state {
    case .paused(let attempt, let begun):
      state = .queued(attempt: attempt, begun: begun)
      return .enqueue(resumed: true)
    case .interrupted(let attempt):
      // Another process's attempt is over; this one's begins where that one stood.
      state = .queued(attempt: attempt + 1, begun: false)
      return .enqueue(resumed: false)
    case .stopping(let attempt, .pause):
      state = .stopping(attempt: attempt, .resume)
      return .none
    case .queued, .running, .stopping, .settled:
      return .none
    }
  }

  mutating func cancel() -> Action { end(.cancel) }

  /// The process ends: what has not ended is over for its host, and kept for a later process.
  mutating func suspend() -> Action {
    // Already kept by the process that left it.
    if case .interrupted = state { return .none }
    return end(.suspend)
  }

  /// An earlier process made so many attempts.
  mutating func follow(attempt earlier: Int) {
    switch state {
    case .queued(_, let begun): state = .queued(attempt: earlier + 1, begun: begun)
    case .paused(_, let begun): state = .paused(attempt: earlier + 1, begun: begun)
    case .settled(_, let end): state = .settled(attempt: earlier, end)
    case .running, .stopping, .interrupted: break
    }
  }

  /// Refused before it was ever queued.
  mutating func reject() -> Action { settle(1, .rejected) }

  mutating func retry() -> Action {
    switch state {
    case .settled(let attempt, .failed), .interrupted(let attempt):
      state = .queued(attempt: attempt + 1, begun: false)
      return .enqueue(resumed: false)
    case .queued, .running, .stopping, .paused, .settled:
      return .none
    }
  }

  /// The run is over.
  ///
  /// Success counts even when a stop was asked for too late; a failure while
  /// being cancelled is a cancellation, since nobody waits for the reason.
  mutating func runEnded(_ end: RunEnd) -> Action {
    switch (state, end) {
    case (.running(let attempt), .succeeded), (.stopping(let attempt, _), .succeeded):
      return settle(attempt, .succeeded)
    case (.stopping(let attempt, .cancel), .stopped), (.stopping(let attempt, .cancel), .failed):
      return settle(attempt, .cancelled)
    case (.running(let attempt), .failed(let rejected)),
      (.stopping(let attempt, _), .failed(let rejected)):
      return settle(attempt, rejected ? .rejected : .failed)
    case (.stopping(let attempt, .pause), .stopped):
      state = .paused(attempt: attempt, begun: true)
      return .pause
    case (.stopping(let attempt, .resume), .stopped):
      state = .queued(attempt: attempt, begun: true)
      return .pauseAndEnqueue
    case (.stopping(let attempt, .suspend), .stopped):
      state = .settled(attempt: attempt, .cancelled)
      return .suspend
    case (.running, .stopped), (.queued, _), (.paused, _), (.interrupted, _), (.settled, _):
      preconditionFailure("a run cannot end with \(end) in \(state)")
    }
  }

  /// Cancels or suspends; the later wish counts, but nothing calls a cancellation back.
  private mutating func end(_ intent: Intent) -> Action {
    switch state {
    case .queued(let attempt, _), .paused(let attempt, _), .interrupted(let attempt):
      state = .settled(attempt: attempt, .cancelled)
      return intent == .suspend ? .suspend : .settle(.cancelled)
    case .running(let attempt):
      state = .stopping(attempt: attempt, intent)
      return .stop
    case .stopping(let attempt, .pause), .stopping(let attempt, .resume),
      .stopping(let attempt, .suspend):
      state = .stopping(attempt: attempt, intent)
      return .none
    case .stopping(_, .cancel), .settled:
      return .none
    }
  }

  private mutating func settle(_ attempt: Int, _ end: TransferState) -> Action {
    state = .settled(attempt: attempt, end)
    return .settle(end)
  }
}
