/// Notices when nothing moves for too long, by looking at an exchange now and then.
///
/// libcurl's own CURLOPT_LOW_SPEED_LIMIT is not used: it averages over five seconds, and counts
/// pauses and a server's time to think.
struct StallWatch {
  enum Phase: Equatable { case connecting, sending, awaiting, receiving }

  /// What moves: any change is life.
  struct Counters: Equatable {
    var uploaded: Int64 = 0
    var received: Int64 = 0
    /// Handed to the kernel and not acknowledged: falls while a slow line drains a large buffer.
    var unacknowledged: Int32 = 0
  }

  private(set) var phase = Phase.connecting
  private var counters = Counters()
  private var lastMove: ContinuousClock.Instant
  private let stallTimeout: Duration
  private let answerTimeout: Duration

  init(now: ContinuousClock.Instant, stallTimeout: Duration, answerTimeout: Duration) {
    lastMove = now
    self.stallTimeout = stallTimeout
    self.answerTimeout = answerTimeout
  }

  /// How long a phase may see nothing move; nil where libcurl itself looks at the clock.
  func limit(_ phase: Phase) -> Duration? {
    switch phase {
    case .connecting: nil
    case .sending, .receiving: stallTimeout
    case .awaiting: answerTimeout
    }
  }

  /// How often to look, so that a stall is noticed at most a quarter late.
  var interval: Duration { min(stallTimeout, answerTimeout) / 4 }

  /// Whether nothing has moved for as long as the phase allows.
  mutating func look(_ phase: Phase, _ counters: Counters, now: ContinuousClock.Instant) -> Bool {
    if phase != self.phase || counters != self.counters {
      (self.phase, self.counters, lastMove) = (phase, counters, now)
    }
    guard let limit = limit(phase) else { return false }
    return now - lastMove >= limit
  }

  /// Begins anew after a pause that we made ourselves.
  mutating func resume(now: ContinuousClock.Instant) { lastMove = now }
}
