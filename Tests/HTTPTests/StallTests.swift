import Glibc
import HTTP
import Testing
import TransferModel

@Suite("Standing still")
struct StallTests {
  private let short: Duration = .milliseconds(400)

  /// The error of a request to a server that stands still at some point, and the time it took.
  private func stalled(
    _ change: (inout HTTPRequest) -> Void,
    source: HTTPSource? = nil,
    _ script: @escaping LoopbackServer.Script
  ) async throws -> TransferError? {
    try await withServer { peer in
      try script(peer)
      peer.waitUntilClosed()
    } _: { client, server in
      var request = HTTPRequest.get(server)
      change(&request)
      let began = ContinuousClock.now
      let error = await failure { () async throws(TransferError) in
        try await client.send(request, with: .direct(stall: short, source: source))
      }
      #expect(ContinuousClock.now - began >= short)
      #expect(error?.isRetryable == true)
      return error
    }
  }

  @Test("A body that nobody takes")
  func sending() async throws {
    let size = 32 << 20
    let error = try await stalled(
      { request in
        request.method = .put
        request.body = [.source(0..<Int64(size))]
        request.lane = .bulk
      },
      source: .bytes([UInt8](repeating: 1, count: size))
    ) { peer in _ = try peer.head() }
    #expect(error?.code == .uploadStalled)
    #expect(error?.message.contains("took no byte for 0.4 s") == true)
    #expect(error?.mayHaveArrived == false)
  }

  @Test("An answer that does not begin", arguments: [HTTPLane.bulk, .call, .poll])
  func awaiting(lane: HTTPLane) async throws {
    let error = try await stalled { request in
      request.method = .put
      request.body = [.bytes([1, 2, 3])]
      request.lane = lane
      request.answerTimeout = .milliseconds(500)
    } _: { peer in
      _ = try peer.request()
    }
    #expect(error?.code == (lane == .bulk ? .uploadStalled : .network))
    #expect(error?.message.contains("did not answer within 0.5 s") == true)
    #expect(error?.mayHaveArrived == true)
  }

  @Test("An answer that does not go on")
  func receiving() async throws {
    let error = try await stalled {
      $0.lane = .bulk
    } _: { peer in
      _ = try peer.request()
      try peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
    }
    #expect(error?.code == .downloadStalled)
    #expect(error?.message.contains("sent no byte for 0.4 s") == true)
  }

  @Test("A server that does not take connections")
  func connecting() async throws {
    // A listener whose queue is full drops what asks to connect.
    let full = try FullListener()
    let client = HTTPClient(userAgent: "ferry/test", limits: patientLimits)
    let request = HTTPRequest(.get, origin: "http://127.0.0.1:\(full.port)", path: "/")
    var traffic = HTTPTraffic.direct()
    traffic.options.connectTimeout = .milliseconds(300)
    let error = await failure { () async throws(TransferError) in
      try await client.send(request, with: traffic)
    }
    #expect(error?.code == .network)
    #expect(error?.message.contains("within 0.3 s") == true)
    #expect(error?.mayHaveArrived == false)
    await client.close()
  }

  @Test("What moves slowly does not stand still")
  func drip() async throws {
    try await withServer { peer in
      _ = try peer.request()
      try peer.write("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
      for byte in "slow and sure".utf8.prefix(12) {
        usleep(100_000)  // The pace that is tested, no wait for something.
        try peer.write([byte])
      }
    } _: { client, server in
      let response = try await client.send(.get(server), with: .direct(stall: .milliseconds(600)))
      #expect(response.body == Array("slow and sur".utf8))
    }
  }

  @Test("Waiting for others in the lane is not standing still")
  func queued() async throws {
    let limits = HTTPLimits(bulk: 1)
    try await withServer(limits: limits) { peer in
      while let request = try peer.request() {
        // Longer than the second may stand still, had it begun: what is tested.
        if request.line.contains("/first") { usleep(900_000) }
        try peer.answer(200)
      }
    } _: { client, server in
      var first = HTTPRequest.get(server, "/first")
      first.lane = .bulk
      var second = HTTPRequest.get(server, "/second")
      second.lane = .bulk
      second.answerTimeout = .milliseconds(600)
      async let one = client.send(first, with: .direct())
      async let two = client.send(second, with: .direct(stall: .milliseconds(300)))
      let statuses = try await [one.status, two.status]
      #expect(statuses == [200, 200])
    }
  }
}

/// A listener that nobody can connect to any more, since nobody is ever accepted.
private final class FullListener {
  let port: UInt16
  private var descriptors: [Int32] = []

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    descriptors = [listener]
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 0) == 0
          ? getsockname(listener, address, &length) : -1
      }
    }
    guard code == 0 else { throw ServerTrouble.system(errno) }
    port = UInt16(bigEndian: address.sin_port)
    for _ in 0..<4 {
      let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      descriptors.append(filler)
      withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = connect(filler, $0, length)
        }
      }
    }
  }

  deinit {
    for descriptor in descriptors { close(descriptor) }
  }
}
