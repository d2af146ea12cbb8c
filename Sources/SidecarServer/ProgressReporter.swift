internal import JSON
internal import JSONRPC
internal import Synchronization
internal import TransferEngine
internal import TransferModel

/// Turns the progress board into notifications: each transfer at most once per interval, all
/// together at most so many per tick, the one told longest ago first.
struct ProgressReporter: Sendable {
  let engine: TransferEngine
  /// Between two notifications of one transfer.
  let interval: Duration

  /// At 20 ticks a second this is about 200 notifications a second.
  private static let reportsPerTick = 10

  /// One transfer's numbers at one moment.
  struct Report: Sendable {
    let slot: ProgressSlot
    let loaded: Int64
    let rate: Double

    /// Writes the members of a `progress` notification.
    func write(to writer: inout JSONWriter) {
      let total = slot.total
      writer.subject(slot.id, slot.batchFile)
      writer.field("direction", slot.direction.rawValue)
      writer.field("loaded", loaded)
      writer.total(total, loaded: loaded)
      writer.field("rate", Int64(rate))
      writer.key("etaMs")
      if let total, rate >= 1 {
        writer.int(Int64(min(Double(total - loaded) / rate * 1000, 1e15)))
      } else {
        writer.null()
      }
      writer.field("attempt", slot.attempt)
    }
  }

  /// Writes what is due and says whether more may come.
  ///
  /// Called with the outbox locked.
  func report(to batch: inout Outbox.Batch) -> Bool {
    let now = ContinuousClock.now
    let due = engine.progress.active
      .compactMap { slot in slot.due(at: now, interval: interval).map { (slot, $0) } }
      .sorted { $0.1 > $1.1 }
    for (slot, _) in due.prefix(Self.reportsPerTick) {
      let report = slot.report(at: now)
      batch.notify("progress") { report.write(to: &$0) }
    }
    return engine.isActive
  }

  /// The closing report of a transfer that has reported before and not yet its end.
  func last(of slot: ProgressSlot) -> Report? {
    let told = slot.reported.withLock { $0 }
    guard told.isTold, told.attempt == slot.attempt,
      told.loaded != slot.loaded || told.total != slot.total
    else { return nil }
    return slot.report(at: .now)
  }
}

extension ProgressSlot {
  /// How long ago it was told, if something new is to be told now.
  ///
  /// The first look at an attempt only remembers where it began, so that short transfers tell
  /// nothing.
  fileprivate func due(at now: ContinuousClock.Instant, interval: Duration) -> Duration? {
    guard isOpen else { return nil }
    return reported.withLock { told in
      guard told.attempt == attempt else {
        told = Reported(loaded: 0, at: now, attempt: attempt)
        return nil
      }
      let age = now - told.at
      return age >= interval && loaded != told.loaded ? age : nil
    }
  }

  /// Takes the numbers of now, and remembers that they were told.
  fileprivate func report(at now: ContinuousClock.Instant) -> ProgressReporter.Report {
    reported.withLock { told in
      let loaded = loaded
      let seconds = max((now - told.at) / .seconds(1), 1e-3)
      let rate = Double(loaded - told.loaded) / seconds
      // A quarter of the newest value: steady enough to read, quick enough to be true.
      told.rate = told.isTold ? told.rate * 0.75 + rate * 0.25 : rate
      told.loaded = loaded
      told.at = now
      told.isTold = true
      told.total = total
      return ProgressReporter.Report(slot: self, loaded: loaded, rate: told.rate)
    }
  }
}
