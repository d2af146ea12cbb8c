import Glibc
import HTTP
import Testing
import TransferModel

@Suite("Connections that are used again")
struct ReuseTests {
  /// Answers once on the first connection and closes it under the second request.
  private static let dying: LoopbackServer.Script = { peer in
    _ = try peer.request()
    try peer.answer(200)
    if peer.number == 1 {
      _ = try peer.head()
      return
    }
    while try peer.request() != nil { try peer.answer(200) }
  }

  @Test("An upload whose reused connection died is sent again from its start, counted once")
  func rewind() async throws {
    let size = 300_000
    let content = noise(size)
    let file = try ScratchFile(content)
    let bodies = Kept<[UInt8]>()
    try await withServer { peer in
      if peer.number == 1 {
        _ = try peer.request()
        try peer.answer(200)
        _ = try peer.head()
        _ = try peer.read(100_000)
        peer.reset()
      }
      while let request = try peer.request() {
        bodies.keep(request.body)
        try peer.answer(200)
      }
    } _: { client, server in
      let first = try await client.send(.get(server), with: .direct())
      #expect(!first.wasRepeated)
      let moved = Tally()
      var traffic = HTTPTraffic.direct(source: file.source)
      traffic.moved = { moved.add($0) }
      let response = try await client.send(.put(server, count: size), with: traffic)
      #expect(response.status == 200)
      #expect(response.wasRepeated)
      #expect(bodies.all == [content])
      #expect(moved.sum == size)
      #expect(client.statistics.repeated == 1)
      #expect(client.statistics.connectionsOpened == 2)
    }
  }

  @Test("What must not be sent twice is not")
  func notRepeatable() async throws {
    try await withServer(Self.dying) { client, server in
      _ = try await client.send(.get(server), with: .direct())
      var request = HTTPRequest(.post, origin: server.origin, path: "/")
      request.isRepeatable = false
      let error = await failure { () async throws(TransferError) in
        try await client.send(request, with: .direct())
      }
      #expect(error?.code == .network)
      #expect(error?.mayHaveArrived == true)
    }
  }

  @Test("A fresh connection is made where it is asked for")
  func fresh() async throws {
    try await withServer(Self.dying) { client, server in
      _ = try await client.send(.get(server), with: .direct())
      var traffic = HTTPTraffic.direct()
      traffic.options.isFresh = true
      let response = try await client.send(.get(server), with: traffic)
      #expect(!response.wasRepeated)
      #expect(server.connections == 2)
    }
  }

  @Test("A connection the server closed while it was idle is not used again")
  func closedWhileIdle() async throws {
    let closed = Gate()
    try await withServer { peer in
      _ = try peer.request()
      try peer.answer(200)
      peer.end()
      closed.open()
    } _: { client, server in
      _ = try await client.send(.get(server), with: .direct())
      await closed.opened()
      let response = try await client.send(.get(server), with: .direct())
      #expect(response.status == 200)
      #expect(server.connections == 2)
    }
  }

  @Test("Connections are not handed on to programs that are started")
  func closeOnExec() async throws {
    let port = Tally()
    try await withServer { peer in
      port.add(Int64(peer.clientPort))
      while try peer.request() != nil { try peer.answer(200) }
    } _: { client, server in
      _ = try await client.send(.get(server), with: .direct())
      let descriptor = try #require((3..<4096).first { localPort($0) == UInt16(port.sum) })
      #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }
  }

  private func localPort(_ descriptor: Int32) -> UInt16? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(descriptor, $0, &length)
      }
    }
    return code == 0 && address.sin_family == sa_family_t(AF_INET)
      ? UInt16(bigEndian: address.sin_port) : nil
  }
}
