import Glibc
import HTTP
import Synchronization
import Testing
import TransferModel

@Suite("The traffic's pace")
struct PaceTests {
  /// Lets so many bytes per second move, and watches the thread that asks.
  private final class Pace: Sendable {
    private struct State {
      var paid = ContinuousClock.now
      var asked = 0
      var firstCPU: Double?
      var lastCPU = 0.0
    }
    private let rate: Double
    private let state = Mutex(State())

    init(rate: Double) { self.rate = rate }

    func admit(_ count: Int) -> Duration {
      // RUSAGE_THREAD: of libcurl's thread, which calls this.
      var usage = rusage()
      getrusage(__rusage_who_t(1), &usage)
      let cpu =
        Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
      return state.withLock { state in
        state.asked += 1
        state.firstCPU = state.firstCPU ?? cpu
        state.lastCPU = cpu
        let now = ContinuousClock.now
        guard state.paid <= now else { return state.paid - now }
        state.paid = now + .seconds(Double(count) / rate)
        return .zero
      }
    }

    var asked: Int { state.withLock { $0.asked } }
    var cpu: Double { state.withLock { $0.lastCPU - ($0.firstCPU ?? 0) } }
  }

  @Test("An upload keeps to it, without spinning and without standing still")
  func upload() async throws {
    let size = 1 << 20
    let content = [UInt8](repeating: 5, count: size)
    let seen = Kept<[UInt8]>()
    try await withServer { peer in
      while let request = try peer.request() {
        seen.keep(request.body)
        try peer.answer(200)
      }
    } _: { client, server in
      let pace = Pace(rate: Double(size))
      // Shorter than the pauses: those are no stalls.
      var traffic = HTTPTraffic.direct(stall: .milliseconds(100), source: .bytes(content))
      traffic.slice = { min($0, 128 << 10) }
      traffic.admit = { pace.admit($0) }
      let began = ContinuousClock.now
      let response = try await client.send(.put(server, count: size), with: traffic)
      let took = ContinuousClock.now - began
      #expect(response.status == 200)
      #expect(seen.all == [content])
      #expect(took >= .milliseconds(800))
      // 8 slices, each asked about again after a pause or two.
      #expect(pace.asked < 60)
      #expect(pace.cpu < 0.25)
    }
  }

  @Test("A download keeps to it, without spinning and without standing still")
  func download() async throws {
    let size = 256 << 10
    let content = [UInt8](repeating: 5, count: size)
    let file = try ScratchFile()
    try await withServer { peer in
      while try peer.request() != nil { try peer.answer(200, [], content) }
    } _: { client, server in
      let pace = Pace(rate: Double(size))
      var traffic = HTTPTraffic.direct(stall: .milliseconds(100), target: file.target)
      traffic.admit = { pace.admit($0) }
      var request = HTTPRequest.get(server)
      request.sink = .target(offset: 0, length: Int64(size))
      let began = ContinuousClock.now
      let response = try await client.send(request, with: traffic)
      let took = ContinuousClock.now - began
      #expect(response.delivered == size)
      #expect(file.contents() == content)
      #expect(took >= .milliseconds(800))
      #expect(pace.asked < 150)
      #expect(pace.cpu < 0.25)
    }
  }

  @Test("A cap that is lifted acts soon, however long the pause was to be")
  func lifted() async throws {
    let isCapped = Atomic(true)
    let asked = Gate()
    try await withServer { peer in
      while try peer.request() != nil { try peer.answer(200, [], noise(100)) }
    } _: { client, server in
      var traffic = HTTPTraffic.direct()
      traffic.admit = { _ in
        asked.open()
        return isCapped.load(ordering: .relaxed) ? .seconds(3600) : .zero
      }
      let task = Task { [traffic] in try await client.send(.get(server), with: traffic) }
      await asked.opened()
      isCapped.store(false, ordering: .relaxed)
      let response = try await task.value
      #expect(response.body == noise(100))
    }
  }
}
