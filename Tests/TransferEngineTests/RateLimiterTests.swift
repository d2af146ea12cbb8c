import Testing

@testable import TransferEngine

@Suite("Caps on bytes per second")
struct RateLimiterTests {
  @Test(
    "A slice is a tenth of a second's worth, at least a byte and at most what is wanted",
    arguments: [
      (nil, 4096, 4096), (1, 4096, 1), (9, 4096, 1), (10_000, 4096, 1000),
      (1_000_000_000, 4096, 4096),
    ] as [(Int64?, Int, Int)]
  )
  func slices(rate: Int64?, limit: Int, bytes: Int) async throws {
    let limiter = RateLimiter(rate: rate)
    #expect(limiter.slice(limit: limit) == bytes)
    try await limiter.take(bytes)
  }

  @Test("A lifted rate lets go of everyone who waits at the old one")
  func changes() async throws {
    let limiter = RateLimiter(rate: 1)
    // At the old rate the last one's time would come in minutes.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<200 { group.addTask { try await limiter.take(1) } }
      try await group.next()
      limiter.set(rate: nil)
      try await group.waitForAll()
    }
  }

  @Test("Who is cancelled while waiting waits no longer")
  func cancellation() async throws {
    let limiter = RateLimiter(rate: 1)
    try await limiter.take(1)
    let waiting = Task { for _ in 0..<1000 { try await limiter.take(1) } }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }

  @Test("Those who wait take turns, whoever asks first when bytes are there")
  func turns() throws {
    final class Taker {}
    let (greedy, patient) = (Taker(), Taker())
    let limiter = RateLimiter(rate: 1000)
    #expect(limiter.admit(100, for: ObjectIdentifier(greedy)) == nil)
    #expect(try #require(limiter.admit(100, for: ObjectIdentifier(patient))) > .zero)
    #expect(try #require(limiter.admit(100, for: ObjectIdentifier(greedy))) > .milliseconds(100))
    // Paid for by now, and the other's.
    while limiter.admit(100, for: ObjectIdentifier(patient)) != nil {
      #expect(limiter.admit(100, for: ObjectIdentifier(greedy)) != nil)
    }
    #expect(limiter.admit(100, for: ObjectIdentifier(greedy)) != nil)
  }
}
