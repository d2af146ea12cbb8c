internal import Glibc

/// Writes what is worth telling on a thread of its own, and drops what does not fit rather than
/// let anyone wait for a slow disk or an unread pipe.
package final class LossyWriter<Entry: Sendable>: Sendable {
  /// What is to be written, in order.
  package enum Item: Sendable {
    case entry(Entry)
    /// So many entries were dropped here.
    case gap(Int64)
  }

  private let descriptor: Int32
  private let threadName: String
  private let limit: Int
  private let format: @Sendable (Item) -> [UInt8]
  private let monitor = Monitor(State())

  private struct State {
    var items: [Item] = []
    /// What the items cost that are not yet written.
    var cost = 0
    var isWriting = false
    var hasStarted = false
    /// Entries dropped since the last item.
    var dropped: Int64 = 0

    var isIdle: Bool { items.isEmpty && dropped == 0 && !isWriting }

    mutating func noteGap() {
      guard dropped > 0 else { return }
      items.append(.gap(dropped))
      dropped = 0
    }
  }

  /// Makes a writer; its thread starts with the first entry.
  /// - Parameters:
  ///   - descriptor: open for writing.
  ///   - threadName: what debuggers show; at most 15 bytes.
  ///   - limit: beyond this cost of waiting entries further ones are dropped.
  ///   - format: makes the bytes to write, on the thread.
  package init(
    to descriptor: Int32,
    threadName: String,
    limit: Int,
    format: @escaping @Sendable (Item) -> [UInt8]
  ) {
    self.descriptor = descriptor
    self.threadName = threadName
    self.limit = limit
    self.format = format
  }

  /// Takes an entry, or drops it; never waits.
  /// - Parameters:
  ///   - entry: what to write.
  ///   - cost: its size in bytes.
  package func add(_ entry: Entry, cost: Int) {
    let starts = monitor.change { state in
      guard state.cost < limit else {
        state.dropped += 1
        return false
      }
      state.noteGap()
      state.items.append(.entry(entry))
      state.cost += cost
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
    if starts { DedicatedThread.start(threadName) { self.run() } }
  }

  /// Blocks until everything is written.
  /// - Returns: whether it is; false when the deadline passed.
  @discardableResult
  package func flush(until deadline: ContinuousClock.Instant) -> Bool {
    monitor.wait { state in
      if state.isIdle { return .done(true) }
      return .now >= deadline ? .done(false) : .again(until: deadline)
    }
  }

  private func run() {
    while true {
      let (items, cost) = monitor.wait { state -> Monitor<State>.Step<([Item], Int)> in
        if state.items.isEmpty { state.noteGap() }
        guard !state.items.isEmpty else { return .again(until: nil) }
        defer { state.items = [] }
        state.isWriting = true
        return .done((state.items, state.cost))
      }
      for item in items { write(format(item)) }
      monitor.change { state in
        // What came meanwhile still waits.
        state.cost -= cost
        state.isWriting = false
      }
    }
  }

  /// Writes all of it; what a full disk or a lost reader refuses is let go.
  private func write(_ bytes: [UInt8]) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
        return Glibc.write(descriptor, rest.baseAddress, rest.count)
      }
      if count >= 0 {
        written += count
      } else if errno == EAGAIN {
        // Another owner of the descriptor made it non-blocking.
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&entry, 1, -1)
      } else if errno != EINTR {
        return
      }
    }
  }
}
