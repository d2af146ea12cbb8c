internal import Backends
internal import Glibc
internal import TransferEngine
internal import TransferModel

/// What is listened to on one remote that is asked over HTTP.
///
/// One loop asks the feed what to do and performs it. What fails is asked again from the same place,
/// ever less often; a change of what is listened to, or of credentials, makes it ask at once.
actor FeedSubscription: Subscription {
  private let remote: String
  private let engine: TransferEngine
  private let gate: FlowGate
  private let tell: @Sendable (SharingEvent) -> Void
  private var feed: any SubscriptionFeed
  private var loop: Task<Void, Never>?
  /// The question, or the pause, that the loop waits for.
  private var wait: Task<Result<[HTTPResponse], TransferError>, Never>?
  private var state: SubscriptionState?
  private var pace = FailurePace()
  /// Whether the remote is to be asked for an answer at once, since a question may be held for
  /// minutes and only then show that it was taken.
  private var isInDoubt = false

  init(
    remote: String,
    engine: TransferEngine,
    gate: FlowGate,
    feed: any SubscriptionFeed,
    tell: @escaping @Sendable (SharingEvent) -> Void
  ) {
    self.remote = remote
    self.engine = engine
    self.gate = gate
    self.feed = feed
    self.tell = tell
  }

  func add(
    _ interest: SubscriptionInterest,
    since: Timetoken?
  ) async throws(TransferError) -> Timetoken {
    let start = try await engine.perform(feed.join(interest, since: since), on: remote)
    // Others may have been added meanwhile: together they may be too much.
    _ = try feed.join(interest, since: since)
    feed.add(interest, from: start)
    // What was asked is out of date.
    wait?.cancel()
    enter(.connected)
    return start.timetoken
  }

  func start() {
    guard loop == nil, !feed.isIdle else { return }
    loop = Task { await run() }
  }

  func remove(channels: [String]?, groups: [String]?) {
    let wasIdle = feed.isIdle
    feed.remove(channels: channels, groups: groups)
    wait?.cancel()
    guard feed.isIdle, !wasIdle else { return }
    end(because: nil)
  }

  func reauthorize() {
    pace.reset()
    isInDoubt = true
    // Denied again, it is told again.
    if state == .denied { state = .reconnecting }
    wait?.cancel()
  }

  private func run() async {
    while !Task.isCancelled, !feed.isIdle {
      await gate.pass()
      guard !Task.isCancelled, !feed.isIdle else { return }
      let isCheck = isInDoubt
      let began = ContinuousClock.now
      let result = await perform(isCheck ? .check(feed) : .step(feed.next(nowMs: Self.nowMs)))
      // A loop that came after this one has the feed now.
      guard !Task.isCancelled else { return }
      do throws(TransferError) {
        let responses = try result.get()
        if isCheck {
          isInDoubt = false
          enter(.connected)
        }
        for response in responses {
          for message in try feed.receive(response, nowMs: Self.nowMs) {
            tell(.message(remote: remote, message))
          }
        }
        // That all is in order says nothing of the questions that are held.
        if !responses.isEmpty { pace.reset() }
      } catch {
        // Stopped because what is asked has changed.
        guard error.code != .cancelled else { continue }
        await recover(from: error.during(.subscribe), after: .now - began)
      }
    }
  }

  /// What the loop waits for.
  private enum Work: Sendable {
    case step(FeedStep)
    /// An answer, whatever it is, to whether all is still in order.
    case check(any SubscriptionFeed)
  }

  /// Performs what can be stopped meanwhile.
  private func perform(_ work: Work) async -> Result<[HTTPResponse], TransferError> {
    let task = Task { [engine, remote] () -> Result<[HTTPResponse], TransferError> in
      do throws(TransferError) {
        switch work {
        case .step(.ask(let request)):
          return .success(try await engine.ask([request], on: remote))
        case .step(.askAll(let requests)):
          return .success(try await engine.ask(requests, on: remote))
        case .step(.wait(let duration)):
          try? await Task.sleep(for: duration)
        case .check(let feed):
          _ = try await engine.perform(feed.join(feed.interest, since: nil), on: remote)
        }
        return .success([])
      } catch {
        return .failure(error)
      }
    }
    wait = task
    // Unless a loop that came after this one waits now.
    defer { if wait == task { wait = nil } }
    return await task.value
  }

  /// Pauses before the same is asked again, or ends where that cannot help.
  private func recover(from error: TransferError, after duration: Duration) async {
    isInDoubt = true
    switch error.code {
    case .permissionDenied, .unauthenticated:
      // Nothing is asked before there are other credentials, or other channels.
      enter(.denied, error)
      _ = await perform(.step(.wait(.seconds(1 << 31))))
    case _ where error.isRetryable:
      enter(.reconnecting, error)
      let pause = Double.random(in: pace.failed(error, after: duration))
      _ = await perform(.step(.wait(.milliseconds(Int64(pause * 1000)))))
    default:
      feed.remove(channels: nil, groups: nil)
      end(because: error)
    }
  }

  private func end(because error: TransferError?) {
    loop?.cancel()
    loop = nil
    pace.reset()
    isInDoubt = false
    enter(.disconnected, error)
  }

  /// Tells how it stands where that has changed.
  private func enter(_ state: SubscriptionState, _ error: TransferError? = nil) {
    guard self.state != state else { return }
    self.state = state
    tell(.status(remote: remote, state, error))
  }

  private static var nowMs: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }
}
