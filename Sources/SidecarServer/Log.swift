internal import JSONRPC

/// Rare lines for people on stderr or in a file; nothing while all is well.
///
/// A line is dropped rather than waited for: a host that does not read stderr must not stop the
/// server.
package struct Log: Sendable {
  /// What is worth telling, from the most important on.
  package enum Level: Int, Sendable, CaseIterable {
    case error, warn, info, debug

    /// The level of a name: `error`, `warn`, `info` or `debug`.
    package init?(name: String) {
      guard let level = Level.allCases.first(where: { "\($0)" == name }) else { return nil }
      self = level
    }
  }

  private let writer: LossyWriter<[UInt8]>
  private let level: Level

  /// What may wait for a slow reader, in bytes.
  private static let limit = 1 << 18

  /// Writes to an open descriptor.
  package init(descriptor: Int32 = 2, level: Level = .warn) {
    self.level = level
    writer = LossyWriter(to: descriptor, threadName: "log", limit: Self.limit) { item in
      switch item {
      case .entry(let line): line
      case .gap(let count): Array("ferry: warn: \(count) lines were dropped here\n".utf8)
      }
    }
  }

  /// Something the user should know, although work goes on.
  package func warn(_ text: String) { write(.warn, text) }

  /// What a curious user may like to know.
  package func info(_ text: String) { write(.info, text) }

  /// What helps to find a fault; never content, keys or URLs.
  package func debug(_ text: @autoclosure () -> String) {
    if level == .debug { write(.debug, text()) }
  }

  /// Waits until everything is written, or the deadline has passed.
  package func flush(until deadline: ContinuousClock.Instant) { writer.flush(until: deadline) }

  private func write(_ level: Level, _ text: String) {
    guard level.rawValue <= self.level.rawValue else { return }
    // One line whatever a host's own words hold, and of bounded length.
    let safe = text.utf8.prefix(4000).map { $0 < 32 || $0 == 127 ? UInt8(ascii: "?") : $0 }
    let line = Array("ferry: \(level): ".utf8) + safe + [UInt8(ascii: "\n")]
    writer.add(line, cost: line.count)
  }
}
