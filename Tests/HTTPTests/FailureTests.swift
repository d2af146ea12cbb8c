import Glibc
import HTTP
import Testing
import TransferModel

@Suite("What goes wrong")
struct FailureTests {
  /// The error of a request to a scripted server; the query is what no error may tell.
  private func trouble(
    _ traffic: HTTPTraffic = .direct(),
    body: [HTTPBodyPiece]? = nil,
    sink: HTTPSinkKind = .memory(limit: 1000),
    _ script: @escaping LoopbackServer.Script
  ) async throws -> TransferError? {
    try await withServer(script) { client, server in
      let request = HTTPRequest(
        body == nil ? .get : .put,
        origin: server.origin,
        path: "/key",
        query: "X-Amz-Signature=secret",
        headers: [HTTPHeader("Authorization", "secret")],
        body: body,
        sink: sink,
        lane: .bulk
      )
      let error = await failure { () async throws(TransferError) in
        try await client.send(request, with: traffic)
      }
      let text = "\(error as Any)"
      #expect(!text.contains("secret"))
      #expect(!text.contains("/key"))
      return error
    }
  }

  @Test("Nobody listens: the error says where, and why")
  func connectionRefused() async throws {
    let port = try LoopbackServer.closedPort()
    let client = HTTPClient(userAgent: "ferry/test", limits: patientLimits)
    let request = HTTPRequest(.get, origin: "http://127.0.0.1:\(port)", path: "/")
    let error = await failure { () async throws(TransferError) in
      try await client.send(request, with: .direct())
    }
    #expect(error?.code == .network)
    #expect(error?.isRetryable == true)
    #expect(error?.mayHaveArrived == false)
    #expect(error?.message.contains("127.0.0.1:\(port) (Connection refused") == true)
    await client.close()
  }

  @Test("A name nobody knows is told with its name")
  func unknownHost() async throws {
    let client = HTTPClient(userAgent: "ferry/test", limits: patientLimits)
    let request = HTTPRequest(.get, origin: "http://nowhere.invalid", path: "/")
    let error = await failure { () async throws(TransferError) in
      try await client.send(request, with: .direct())
    }
    #expect(error?.code == .network)
    #expect(error?.message.contains("nowhere.invalid:80") == true)
    #expect(error?.mayHaveArrived == false)
    await client.close()
  }

  @Test("A connection closed or reset instead of an answer may have done what was asked")
  func noAnswer() async throws {
    let closed = try await trouble { peer in _ = try peer.request() }
    #expect(closed?.code == .network)
    #expect(closed?.mayHaveArrived == true)
    let reset = try await trouble { peer in
      _ = try peer.request()
      peer.reset()
    }
    #expect(reset?.code == .network)
    #expect(reset?.mayHaveArrived == true)
  }

  @Test("An upload cut in its middle cannot have been taken whole")
  func cutUpload() async throws {
    let file = try ScratchFile([UInt8](repeating: 1, count: 4 << 20))
    let error = try await trouble(
      .direct(source: file.source),
      body: [.source(0..<4 << 20)]
    ) { peer in
      _ = try peer.head()
      _ = try peer.read(1000)
      peer.reset()
    }
    #expect(error?.code == .network)
    #expect(error?.isRetryable == true)
    #expect(error?.mayHaveArrived == false)
  }

  @Test("Of an answer that ends early what came is in the target, and was told")
  func truncated() async throws {
    let content = noise(700_000)
    let file = try ScratchFile()
    let moved = Tally()
    var traffic = HTTPTraffic.direct(target: file.target)
    traffic.moved = { moved.add($0) }
    let error = try await trouble(traffic, sink: .target(offset: 0, length: 700_001)) { peer in
      _ = try peer.request()
      try peer.write("HTTP/1.1 200 OK\r\nContent-Length: 700001\r\n\r\n")
      try peer.write(content)
    }
    #expect(error?.code == .network)
    #expect(error?.httpStatus == 200)
    #expect(file.contents() == content)
    #expect(moved.sum == 700_000)
  }

  @Test("A chunked answer without its last chunk is none")
  func truncatedChunks() async throws {
    let error = try await trouble { peer in
      _ = try peer.request()
      try peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    }
    #expect(error?.code == .network)
  }

  @Test("An answer of unknown length ends with its connection, and says how much came")
  func withoutLength() async throws {
    let file = try ScratchFile()
    try await withServer { peer in
      _ = try peer.request()
      try peer.write("HTTP/1.1 200 OK\r\n\r\nabc")
    } _: { client, server in
      var request = HTTPRequest.get(server)
      request.sink = .target(offset: 0, length: 10)
      let response = try await client.send(request, with: .direct(target: file.target))
      #expect(response.delivered == 3)
    }
  }

  @Test("More than was asked for is refused, whether it was announced or not")
  func tooLong() async throws {
    let file = try ScratchFile()
    for head in ["Content-Length: 1001\r\n", ""] {
      let script: LoopbackServer.Script = { peer in
        _ = try peer.request()
        try peer.write("HTTP/1.1 200 OK\r\n\(head)\r\n")
        try peer.write(noise(1001))
      }
      let inMemory = try await trouble(.direct(), script)
      #expect(inMemory?.code == .server)
      let sink = HTTPSinkKind.target(offset: 0, length: 1000)
      let inTarget = try await trouble(.direct(target: file.target), sink: sink, script)
      #expect(inTarget?.code == .server)
    }
    #expect(file.contents().count <= 1000)
  }

  @Test("Header fields without end are refused")
  func endlessHeaders() async throws {
    let error = try await trouble { peer in
      _ = try peer.request()
      try peer.write("HTTP/1.1 200 OK\r\n")
      while true { try peer.write("X-More: " + String(repeating: "x", count: 1000) + "\r\n") }
    }
    #expect(error?.code == .server)
  }

  @Test("What is not HTTP is told so")
  func notHTTP() async throws {
    let error = try await trouble { peer in
      _ = try peer.request()
      try peer.write("220 mail ready\r\n")
    }
    #expect(error?.code == .server)
    #expect(error?.message.contains("not HTTP") == true)
  }

  @Test("A refusal is an answer, even cut short, endless, or before the body was read")
  func refusals() async throws {
    let file = try ScratchFile([UInt8](repeating: 1, count: 8 << 20))
    try await withServer { peer in
      let path = try peer.head()?.line.split(separator: " ")[1]
      switch path {
      case "/cut":
        try peer.write("HTTP/1.1 503 Slow Down\r\nContent-Length: 100\r\n\r\n<Error>")
      case "/endless":
        try peer.write("HTTP/1.1 500 Oops\r\n\r\n")
        while true { try peer.write([UInt8](repeating: 1, count: 4096)) }
      default:
        try peer.answer(403, ["Connection: close"], Array("no".utf8))
        peer.waitUntilClosed()
      }
    } _: { client, server in
      let cut = try await client.send(.get(server, "/cut"), with: .direct())
      #expect(cut.status == 503)
      #expect(cut.body == Array("<Error>".utf8))
      let endless = try await client.send(.get(server, "/endless"), with: .direct())
      #expect(endless.status == 500)
      #expect(endless.body.count == 64 << 10)
      let early = try await client.send(
        .put(server, count: 8 << 20),
        with: .direct(source: file.source)
      )
      #expect(early.status == 403)
      #expect(early.body == Array("no".utf8))
    }
  }

  @Test("A refused download leaves the target as it was")
  func refusedDownload() async throws {
    let file = try ScratchFile([7])
    try await withServer { peer in
      while try peer.request() != nil { try peer.answer(404, [], Array("<Error/>".utf8)) }
    } _: { client, server in
      let moved = Tally()
      var traffic = HTTPTraffic.direct(target: file.target)
      traffic.moved = { moved.add($0) }
      var request = HTTPRequest.get(server)
      request.sink = .target(offset: 0, length: 100)
      let response = try await client.send(request, with: traffic)
      #expect(response.status == 404)
      #expect(response.body == Array("<Error/>".utf8))
      #expect(response.delivered == 0)
      #expect(file.contents() == [7])
      #expect(moved.all == [])
    }
  }

  @Test("A source that has become shorter fails, and the server never has it whole")
  func shorterSource() async throws {
    let file = try ScratchFile(noise(1000))
    let error = try await trouble(
      .direct(source: file.source),
      body: [.source(0..<1001)]
    ) { peer in
      _ = try peer.request()
      try peer.answer(200)
    }
    #expect(error?.code == .fileChanged)
    #expect(error?.message.contains("'scratch'") == true)
  }

  @Test("A full disk is told as such")
  func fullDisk() async throws {
    let descriptor = open("/dev/full", O_WRONLY)
    defer { close(descriptor) }
    let target = HTTPTarget(descriptor: descriptor, name: "photo.part")
    let error = try await trouble(
      .direct(target: target),
      sink: .target(offset: 0, length: 1 << 20)
    ) { peer in
      _ = try peer.request()
      try peer.answer(200, [], [UInt8](repeating: 1, count: 1 << 20))
    }
    #expect(error?.code == .diskFull)
    #expect(error?.message.contains("photo.part") == true)
  }
}
