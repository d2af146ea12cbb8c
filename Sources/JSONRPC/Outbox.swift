internal import CLinux
internal import Glibc
package import JSON

/// Everything that goes out: one lane that is never dropped, one tick for progress, one writer.
///
/// The writer is a thread of its own that writes whole messages and blocks where the reader of the
/// output does; no other thread waits for it but in ``flush(until:)``, ``admitsWork()`` and ``waitForRoom()``.
package final class Outbox: Sendable {
  /// How much may lie unread, in bytes.
  package struct Bounds: Sendable {
    /// Beyond this the outbox counts as congested, until half of it is left.
    package var soft = 512 << 10
    /// Beyond `soft` plus this the reader of requests stops.
    package var refusals = 512 << 10

    /// The bounds that are usual.
    package init() {}
  }

  /// How long new work waits for a host that reads slowly.
  private static let patience = Duration.seconds(2)

  /// The most that one write(2) is given, so that room is seen while a burst goes out.
  private static let chunkBytes = 1 << 16

  private let output: Int32
  private let bounds: Bounds
  private let interval: Duration
  private let monitor = Monitor(State())

  private struct State {
    var lane = Batch()
    /// Bytes the writer has taken and not yet written.
    var writing = 0
    var isCongested = false
    /// The reader of requests has waited in vain for this congestion to end.
    var hasWaited = false
    /// The reader is in the middle of what it read; its replies go out together.
    var isHeld = false
    /// Messages are being sent that go out together.
    var isTogether = false
    /// The errno of the write(2) that failed.
    var lossReason: Int32?
    var isProgressActive = false
    var nextTick = ContinuousClock.now
    var droppedProgress: Int64 = 0
    var progressSource: (@Sendable (inout Batch) -> Bool)?
    var onDrained: (@Sendable () -> Void)?
    var onLost: (@Sendable (Int32) -> Void)?

    var unread: Int { lane.bytes.count + writing }
    /// Whether there is something the writer should take now.
    var isReady: Bool {
      let isWanted = !isHeld && !isTogether || lane.bytes.count >= Outbox.chunkBytes
      return !lane.bytes.isEmpty && isWanted
    }
    var isLost: Bool { lossReason != nil }
  }

  /// Starts the writer.
  /// - Parameters:
  ///   - output: an open descriptor in blocking mode.
  ///   - bounds: how much may lie unread.
  ///   - interval: the shortest time between two calls of the progress source.
  ///   - trace: gets a copy of every message.
  package init(
    output: Int32,
    bounds: Bounds = Bounds(),
    progressInterval interval: Duration = .milliseconds(50),
    trace: Trace? = nil
  ) {
    self.output = output
    self.bounds = bounds
    self.interval = interval
    monitor.withLock { $0.lane.trace = trace }
    DedicatedThread.start("stdout-writer") { self.write() }
  }

  // MARK: - Messages

  /// Sends a notification whose params are an object: `seq`, then what `params` writes.
  ///
  /// `seq` rises by one with each notification, in the order they go out.
  package func notify(_ method: String, _ params: (inout JSONWriter) -> Void) {
    guard monitor.withLock({ !$0.isLost && !$0.lane.optOut.contains(method) }) else { return }
    let notification = Notification(method, params)
    append { $0.append(notification) }
  }

  /// Sends a finished message; `released` runs once it cannot be overtaken any more.
  func reply(_ message: [UInt8], released: () -> Void) {
    append { lane in
      lane.append(message)
      released()
    }
  }

  private func append(_ message: (inout Batch) -> Void) {
    monitor.wakeIf { state in
      message(&state.lane)
      if state.isLost {
        state.lane.bytes = []
      } else if state.unread > bounds.soft {
        state.isCongested = true
      }
      return state.isReady
    }
  }

  /// Lets the replies of one quick piece of work go out together: waking the writer for each
  /// costs more than the rest of a small request.
  func holding(_ work: () -> Void) {
    monitor.withLock { $0.isHeld = true }
    work()
    monitor.wakeIf { state in
      state.isHeld = false
      return state.isReady
    }
  }

  /// Lets messages of one event go out together; one thread at a time, which waits for nothing
  /// meanwhile.
  package func together(_ work: () -> Void) {
    monitor.withLock { $0.isTogether = true }
    work()
    monitor.wakeIf { state in
      state.isTogether = false
      return state.isReady
    }
  }

  /// Names notification methods that are dropped before they are built.
  package func optOut(of methods: Set<String>) { monitor.withLock { $0.lane.optOut = methods } }

  /// Chooses how messages are told apart, from the next one on.
  package func use(_ framing: Framing) { monitor.withLock { $0.lane.framing = framing } }

  // MARK: - Progress

  /// Says who writes progress.
  ///
  /// The writer calls `source` with the outbox locked, so that nothing can come between what it
  /// reads and what it writes: remove a transfer from what the source reads, then send its last
  /// event, and no progress can follow it. It must be quick, must not use the outbox but through
  /// its argument, and returns whether there may be more. Nobody may call the outbox while
  /// holding a lock that `source` takes. It is not called while congested.
  package func progressSource(_ source: @escaping @Sendable (inout Batch) -> Bool) {
    monitor.withLock { $0.progressSource = source }
  }

  /// Starts or stops the calls of the progress source; the first comes after one interval.
  package func setProgressActive(_ isActive: Bool) {
    monitor.wakeIf { state in
      guard state.isProgressActive != isActive else { return false }
      state.isProgressActive = isActive
      state.nextTick = .now + interval
      return true
    }
  }

  /// How many calls of the progress source were left out since the output was not read.
  package var droppedProgress: Int64 { monitor.withLock { $0.droppedProgress } }

  // MARK: - State

  /// The bytes that are not yet written.
  package var queuedBytes: Int { monitor.withLock { $0.unread } }

  /// Whether more lies unread than the soft bound allows, or did until half of it was left.
  package var isCongested: Bool { monitor.withLock { $0.isCongested } }

  /// Says what to do each time congestion ends; called on the writer's thread.
  package func onDrained(_ handler: @escaping @Sendable () -> Void) {
    monitor.withLock { $0.onDrained = handler }
  }

  /// Says what to do when nobody can read the output any more.
  ///
  /// Called once, on the writer's thread, with the errno of write(2); at once when it has happened.
  package func onLost(_ handler: @escaping @Sendable (Int32) -> Void) {
    let reason = monitor.withLock { state in
      state.onLost = handler
      return state.lossReason
    }
    if let reason { handler(reason) }
  }

  /// Blocks until everything is written.
  /// - Returns: whether it is; false when the deadline passed or the output was lost.
  package func flush(until deadline: ContinuousClock.Instant) -> Bool {
    monitor.wait { state in
      if state.isLost { return .done(false) }
      if state.unread == 0 { return .done(true) }
      return .now >= deadline ? .done(false) : .again(until: deadline)
    }
  }

  /// Whether the host has read enough for new work.
  ///
  /// Blocks the reader of requests for up to two seconds while it has not: a host that reads more
  /// slowly than it writes is slowed down, not refused. One that does not read is waited for once.
  package func admitsWork() -> Bool {
    let wait = monitor.withLock { $0.isCongested && !$0.hasWaited }
    if wait { pause(for: Self.patience) { !$0.isCongested } }
    return admitsWorkNow()
  }

  /// The same for work that has no thread to block.
  package func admitsQueuedWork() async -> Bool {
    let deadline = ContinuousClock.now + Self.patience
    while monitor.withLock({ $0.isCongested && !$0.hasWaited }), .now < deadline {
      try? await Task.sleep(for: .milliseconds(10))
    }
    return admitsWorkNow()
  }

  /// After a wait: a congestion that has lasted is not waited for again.
  private func admitsWorkNow() -> Bool {
    monitor.withLock { state in
      state.hasWaited = state.isCongested
      return !state.isCongested
    }
  }

  /// Blocks the reader of requests while more lies unread than even refusals may take.
  /// - Parameter onWait: called before the thread blocks.
  func waitForRoom(onWait: () -> Void) {
    let limit = bounds.soft + bounds.refusals
    if monitor.withLock({ $0.unread <= limit || $0.isLost }) { return }
    onWait()
    if pause(for: .seconds(1), until: { $0.unread <= limit || $0.isLost }) { return }
    // It may be hours: what the work until now needed is not kept for more of it.
    clinux_return_memory()
    monitor.wait { state in
      state.unread <= limit || state.isLost ? .done(()) : .again(until: nil)
    }
  }
}

extension Outbox {
  /// Blocks the reader of requests until something is so; false where it was not in time.
  @discardableResult
  private func pause(for patience: Duration, until isSo: (State) -> Bool) -> Bool {
    // The writer must not wait for the rest of what this thread reads.
    monitor.wakeIf { state in
      state.isHeld = false
      return state.isReady
    }
    let deadline = ContinuousClock.now + patience
    return monitor.wait { state in
      if isSo(state) { return .done(true) }
      return .now >= deadline ? .done(false) : .again(until: deadline)
    }
  }

  /// Blocks a thread of its own while more lies unread than the soft bound allows.
  ///
  /// `isDone` is asked at every change and every 50 ms.
  /// - Returns: whether the output still takes messages and `isDone` is false.
  package func waitUntilRead(unless isDone: () -> Bool) -> Bool {
    monitor.wait { state in
      if state.isLost || isDone() { return .done(false) }
      return state.unread <= bounds.soft
        ? .done(true) : .again(until: .now + .milliseconds(50))
    }
  }
}

// MARK: - The writer's thread

extension Outbox {
  private func write() {
    var buffer: [UInt8] = []
    while true {
      takeNext(&buffer)
      guard write(buffer) else { return }
      // A burst may have made it large; the usual traffic needs little.
      buffer.capacity > 1 << 18 ? buffer = [] : buffer.removeAll(keepingCapacity: true)
    }
  }

  /// Waits for messages and takes all there are.
  private func takeNext(_ buffer: inout [UInt8]) {
    monitor.wait { state in
      tick(&state)
      if state.isReady {
        swap(&buffer, &state.lane.bytes)
        state.writing = buffer.count
        return .done(())
      }
      return .again(until: state.isProgressActive ? state.nextTick : nil)
    }
  }

  private func tick(_ state: inout State) {
    guard state.isProgressActive, !state.isLost, let source = state.progressSource else { return }
    let now = ContinuousClock.now
    guard now >= state.nextTick else { return }
    // Ticks that passed while the writer was blocked are progress that nobody saw.
    state.droppedProgress += Int64((now - state.nextTick) / interval)
    state.nextTick = now + interval
    if state.unread > bounds.soft {
      state.droppedProgress += 1
    } else {
      state.isProgressActive = source(&state.lane)
    }
  }

  private func write(_ buffer: [UInt8]) -> Bool {
    var written = 0
    while written < buffer.count {
      let count = buffer.withUnsafeBytes { bytes in
        let part = bytes[written...].prefix(Self.chunkBytes)
        return Glibc.write(output, UnsafeRawBufferPointer(rebasing: part).baseAddress, part.count)
      }
      if count < 0 {
        let reason = errno
        guard isTransient(reason) else {
          lose(reason)
          return false
        }
        continue
      }
      written += count
      account(count)
    }
    return true
  }

  /// Whether to try again; waits where another owner of the descriptor made it non-blocking.
  private func isTransient(_ reason: Int32) -> Bool {
    if reason == EAGAIN {
      var entry = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
      poll(&entry, 1, -1)
    }
    return reason == EAGAIN || reason == EINTR
  }

  private func account(_ count: Int) {
    let drained = monitor.change { state -> (@Sendable () -> Void)? in
      state.writing -= count
      guard state.isCongested, state.unread <= bounds.soft / 2 else { return nil }
      state.isCongested = false
      state.hasWaited = false
      return state.onDrained
    }
    drained?()
  }

  private func lose(_ reason: Int32) {
    let handler = monitor.change { state in
      state.lossReason = reason
      state.isCongested = false
      state.writing = 0
      state.lane.bytes = []
      return state.onLost
    }
    handler?(reason)
  }
}
