import Testing

@testable import TransferEngine
import TransferModel

@Suite struct ExchangeTests {
  @Test("ranges in any order reach as far as they leave no gap")
  func contiguous() {
    var ranges = ContiguousRanges()
    let steps: [(Range<Int64>, Int64)] = [
      (10..<20, 0), (30..<40, 0), (0..<10, 20), (5..<5, 20), (20..<30, 40), (40..<41, 41),
    ]
    for (range, end) in steps {
      ranges.add(range)
      #expect(ranges.end == end, "after \(range)")
    }
  }

  @Test("waits double up to a bound, and chance shortens them")
  func backoff() {
    let table: [(Int, Double, Duration)] = [
      (1, 1, .milliseconds(200)), (1, 0.5, .milliseconds(100)), (2, 1, .milliseconds(400)),
      (4, 1, .milliseconds(1600)), (8, 1, .seconds(20)), (1000, 1, .seconds(20)), (3, 0, .zero),
    ]
    for (attempt, random, expected) in table {
      #expect(Backoff.delay(afterAttempt: attempt, random: random) == expected)
    }
  }

  @Test("a remote that is down is not asked again for ever; one that answers may be")
  func budget() {
    let budget = RetryBudget()
    var retries = 0
    while budget.takeRetry() { retries += 1 }
    #expect(retries == 100)
    for _ in 0..<4 { budget.succeeded() }
    #expect(!budget.takeRetry())
    budget.succeeded()
    #expect(budget.takeRetry())
    #expect(!budget.takeRetry())
  }

  @Test("what is shown never falls within an attempt, although exchanges fail")
  func meter() throws {
    let slot = ProgressSlot(id: try #require(TransferID("t")), direction: .upload, total: 100)
    let meter = TransferMeter(slot: slot)
    meter.moved(40)
    #expect(slot.loaded == 40)
    // The exchange failed and begins again.
    meter.moved(-40)
    #expect(slot.loaded == 40)
    meter.moved(60)
    #expect(slot.loaded == 60)
    meter.settle(50, ending: 60)
    #expect(slot.loaded == 60)
    meter.moved(45)
    #expect(slot.loaded == 95)
    // A form's own bytes are no content.
    meter.moved(20)
    #expect(slot.loaded == 100)
    slot.set(loaded: 0)
    meter.reset()
    meter.moved(5)
    #expect(slot.loaded == 5)
  }

  @Test("a throttled remote is asked half as much at the same time")
  func gate() async {
    let gate = ConcurrencyGate(ceiling: 4)
    for _ in 0..<4 { #expect(await gate.enter()) }
    gate.leave(isThrottled: true)
    // The same burst's other refusals say nothing new.
    gate.leave(isThrottled: true)
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<3 {
        group.addTask { await gate.enter() }
      }
      gate.leave(isThrottled: false)
      gate.leave(isThrottled: false)
      // Two fit; the third waits until its task is cancelled.
      #expect(await group.next() == true)
      #expect(await group.next() == true)
      group.cancelAll()
      #expect(await group.next() == false)
    }
  }
}
