internal import Glibc
internal import JSON

/// Mirrors what goes in and out into a file, redacted; drops lines rather than slow the protocol.
///
/// One JSON object per line: `{"t":ms,"dir":"in"|"out","line":text}` with the time since 1970, and
/// `{"t":ms,"dropped":n}` where the disk was too slow for `n` lines. Outgoing lines are those that
/// were queued for the host, whether or not it read them.
package final class Trace: Sendable {
  /// Which way a message went.
  package enum Direction: String, Sendable {
    case input = "in"
    case output = "out"
  }

  private struct Record: Sendable {
    let time: Int64
    let direction: Direction
    let content: Content
  }

  private enum Content: Sendable {
    case message([UInt8])
    /// What cannot be shown, in words.
    case note(String)
  }

  private let writer: LossyWriter<Record>

  /// How many bytes may wait for the disk; one message more may come on top.
  private static let limit = 8 << 20

  /// Writes to a descriptor that is open for writing.
  package init(descriptor: Int32) {
    writer = LossyWriter(to: descriptor, threadName: "rpc-trace", limit: Self.limit) { item in
      switch item {
      case .entry(let record): Self.line(record)
      case .gap(let count): Self.line { $0.field("dropped", count) }
      }
    }
  }

  /// Takes one message, without what separates it from the next.
  func record(_ direction: Direction, _ message: [UInt8]) {
    add(direction, .message(message), cost: message.count)
  }

  /// Takes what is told in place of a message that was not kept.
  func note(_ direction: Direction, _ text: String) {
    add(direction, .note(text), cost: text.utf8.count)
  }

  /// Waits until the file has everything, or the deadline has passed.
  package func flush(until deadline: ContinuousClock.Instant) { writer.flush(until: deadline) }

  private func add(_ direction: Direction, _ content: Content, cost: Int) {
    writer.add(
      Record(time: Self.now(), direction: direction, content: content),
      cost: cost + MemoryLayout<Record>.stride
    )
  }

  private static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  private static func line(_ record: Record) -> [UInt8] {
    line(at: record.time) { writer in
      writer.field("dir", record.direction.rawValue)
      switch record.content {
      case .message(let bytes): writer.field("line", Redaction.text(of: bytes))
      case .note(let text): writer.field("line", text)
      }
    }
  }

  private static func line(
    at time: Int64 = now(),
    _ members: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("t", time)
    members(&writer)
    writer.endObject()
    return writer.take() + [0x0A]
  }
}
