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
    #expect(try await limiter.take(upTo: limit) == bytes)
  }

  @Test("A new rate wakes who waits at the old one, and cuts the piece by itself")
  func changes() async throws {
    let limiter = RateLimiter(rate: 1)
    // The second byte's time would come after the first one's second, the last one's in minutes.
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<200 { group.addTask { try await limiter.take(upTo: 4096) } }
      #expect(try await group.next() == 1)
      limiter.set(rate: nil)
      for try await bytes in group { #expect(bytes == 1 || bytes == 4096) }
    }
  }

  @Test("Who is cancelled while waiting waits no longer")
  func cancellation() async throws {
    let limiter = RateLimiter(rate: 1)
    #expect(try await limiter.take(upTo: 1) == 1)
    let waiting = Task { for _ in 0..<1000 { _ = try await limiter.take(upTo: 1) } }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }
}
