import HTTP
import Synchronization
import Testing
import TransferModel

@Suite("Ending early")
struct CancelTests {
  enum Moment: CaseIterable { case awaiting, sending, receiving, paused, queued }

  @Test(
    "A cancelled request is gone at once, whatever it was doing; its connection too",
    arguments: Moment.allCases
  )
  func cancel(moment: Moment) async throws {
    let size = 16 << 20
    let source = HTTPSource.bytes([UInt8](repeating: 1, count: size))
    let gone = Tally()
    try await withServer(limits: HTTPLimits(bulk: 1)) { peer in
      defer { gone.add(1) }
      _ = try peer.head()
      if moment == .receiving || moment == .paused {
        try peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nabc")
      }
      peer.waitUntilClosed()
    } _: { client, server in
      var best = Duration.seconds(60)
      // The best of some, since the machine may be busy.
      for _ in 0..<8 {
        let blocker = moment == .queued ? try await block(client, server) : nil
        let reached = Gate()
        var traffic = HTTPTraffic.direct(source: moment == .sending ? source : nil)
        if moment == .receiving || moment == .sending {
          traffic.moved = { _ in reached.open() }
        }
        if moment == .paused {
          traffic.admit = { _ in
            reached.open()
            return .seconds(3600)
          }
        }
        var request =
          moment == .sending ? HTTPRequest.put(server, count: size) : .get(server)
        request.lane = .bulk
        let task = Task { [request, traffic] in
          await failure { () async throws(TransferError) in
            try await client.send(request, with: traffic)
          }
        }
        switch moment {
        case .awaiting: await until { client.statistics.bulk == 1 }
        case .queued: await until { client.statistics.waiting == 1 }
        case .sending, .receiving, .paused: await reached.opened()
        }
        let began = ContinuousClock.now
        task.cancel()
        let error = await task.value
        best = min(best, ContinuousClock.now - began)
        #expect(error?.code == .cancelled)
        #expect(client.statistics.waiting == 0)
        if let blocker {
          blocker.cancel()
          await blocker.value
        }
      }
      // On an idle machine it is below 10 ms; a look only at the next time limit would be seconds.
      #expect(best < .milliseconds(250))
      await until { gone.sum == server.connections }
      await until { client.statistics.connectionsOpen == 0 }
    }
  }

  /// Takes the one place there is.
  private func block(
    _ client: HTTPClient,
    _ server: LoopbackServer
  ) async throws -> Task<Void, Never> {
    var request = HTTPRequest.get(server)
    request.lane = .bulk
    let task = Task { [request] in
      _ = await failure { () async throws(TransferError) in
        try await client.send(request, with: .direct())
      }
    }
    await until { client.statistics.bulk == 1 }
    return task
  }

  /// Lets others run until something is so.
  private func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }

  @Test("A task that is cancelled before it asks sends nothing")
  func cancelledBefore() async throws {
    try await withServer { peer in
      while try peer.request() != nil { try peer.answer(200) }
    } _: { client, server in
      let start = Gate()
      let task = Task {
        await start.opened()
        return await failure { () async throws(TransferError) in
          try await client.send(.get(server), with: .direct())
        }
      }
      task.cancel()
      start.open()
      #expect(await task.value?.code == .cancelled)
      #expect(client.statistics.requests == 0)
    }
  }

  @Test("Closing ends what is under way and refuses what comes later")
  func close() async throws {
    let asked = Gate()
    try await withServer { peer in
      _ = try peer.request()
      asked.open()
      peer.waitUntilClosed()
    } _: { client, server in
      let task = Task {
        await failure { () async throws(TransferError) in
          try await client.send(.get(server), with: .direct())
        }
      }
      await asked.opened()
      await client.close()
      #expect(await task.value?.code == .shuttingDown)
      let late = await failure { () async throws(TransferError) in
        try await client.send(.get(server), with: .direct())
      }
      #expect(late?.code == .shuttingDown)
      #expect(client.statistics.connectionsOpen == 0)
      await client.close()
    }
  }

  @Test("An idle client gives its connections up, and works again")
  func idle() async throws {
    let gone = Gate()
    try await withServer(limits: HTTPLimits(idle: .milliseconds(50))) { peer in
      while try peer.request() != nil { try peer.answer(200) }
      gone.open()
    } _: { client, server in
      _ = try await client.send(.get(server), with: .direct())
      await gone.opened()
      let response = try await client.send(.get(server), with: .direct())
      #expect(response.status == 200)
      #expect(server.connections == 2)
      #expect(client.statistics.connectionsOpened == 2)
    }
  }
}
