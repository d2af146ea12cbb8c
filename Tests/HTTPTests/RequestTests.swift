import HTTP
import Testing
import TransferModel

@Suite("Requests and answers")
struct RequestTests {
  @Test("A GET has its fields, path and query as they are, and brings status, fields and body")
  func get() async throws {
    let seen = Kept<SeenRequest>()
    try await withServer { peer in
      while let request = try peer.request() {
        seen.keep(request)
        try peer.answer(200, ["ETag: \"a\"", "X-Empty:"], Array("hello".utf8))
      }
    } _: { client, server in
      let request = HTTPRequest(
        .get,
        origin: server.origin,
        path: "/a/../b//%C3%A9",
        query: "x=%20&y=",
        headers: [HTTPHeader("X-One", "1"), HTTPHeader("X-None", "")]
      )
      let response = try await client.send(request, with: .direct())
      #expect(response.status == 200)
      #expect(response.header("etag") == "\"a\"")
      #expect(response.header("x-empty") == "")
      #expect(response.body == Array("hello".utf8))
      #expect(!response.wasRepeated)
      let came = try #require(seen.all.first)
      #expect(came.line == "GET /a/../b//%C3%A9?x=%20&y= HTTP/1.1")
      #expect(came.field("X-One") == "1")
      #expect(came.field("X-None") == "")
      #expect(came.field("User-Agent") == "ferry/test")
      #expect(came.field("Content-Length") == nil)
      #expect(came.field("Accept-Encoding") == nil)
    }
  }

  @Test(
    "A body of pieces goes out whole, with its length and without Expect",
    arguments: [0, 1, 300_000]
  )
  func put(size: Int) async throws {
    let content = noise(size + 7)
    let file = try ScratchFile(content)
    let seen = Kept<SeenRequest>()
    try await withServer { peer in
      while let request = try peer.request() {
        seen.keep(request)
        try peer.answer(200)
      }
    } _: { client, server in
      let moved = Tally()
      var traffic = HTTPTraffic.direct(source: file.source)
      traffic.moved = { moved.add($0) }
      let request = HTTPRequest(
        .put,
        origin: server.origin,
        path: "/k",
        body: [
          .bytes(Array("<".utf8)), .source(7..<Int64(size + 7)), .bytes(Array(">".utf8)),
        ],
        lane: .bulk
      )
      let response = try await client.send(request, with: traffic)
      #expect(response.status == 200)
      let came = try #require(seen.all.first)
      #expect(came.line == "PUT /k HTTP/1.1")
      #expect(came.field("Content-Length") == "\(size + 2)")
      #expect(came.field("Expect") == nil)
      #expect(came.field("Transfer-Encoding") == nil)
      #expect(came.body == [60] + content[7...] + [62])
      #expect(moved.sum == size)
    }
  }

  @Test(
    "Each method is sent as it is; only a body has a length",
    arguments: [HTTPMethod.get, .put, .post, .patch, .delete],
    [nil, []] as [[UInt8]?]
  )
  func methods(method: HTTPMethod, body: [UInt8]?) async throws {
    let seen = Kept<SeenRequest>()
    try await withServer { peer in
      while let request = try peer.request() {
        seen.keep(request)
        try peer.answer(200, [], [1])
      }
    } _: { client, server in
      let pieces = body.map { [HTTPBodyPiece.bytes($0)] }
      let request = HTTPRequest(method, origin: server.origin, path: "/", body: pieces)
      let response = try await client.send(request, with: .direct())
      #expect(response.body == [1])
      let came = try #require(seen.all.first)
      #expect(came.line == "\(method.rawValue) / HTTP/1.1")
      #expect(came.field("Content-Length") == (body == nil ? nil : "0"))
      #expect(came.field("Content-Type") == nil)
    }
  }

  @Test("Answers without a body do not wait for one, and the connection is used again")
  func bodiless() async throws {
    try await withServer { peer in
      while let request = try peer.request() {
        switch request.line.split(separator: " ")[1] {
        case "/head": try peer.write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        case "/204": try peer.write("HTTP/1.1 204 No Content\r\n\r\n")
        default: try peer.write("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")
        }
      }
    } _: { client, server in
      let head = HTTPRequest(.head, origin: server.origin, path: "/head")
      let answer = try await client.send(head, with: .direct())
      #expect(answer.header("Content-Length") == "99999999999")
      #expect(answer.body == [])
      #expect(try await client.send(.get(server, "/204"), with: .direct()).status == 204)
      #expect(try await client.send(.get(server, "/304"), with: .direct()).status == 304)
      #expect(server.connections == 1)
      #expect(client.statistics.connectionsOpened == 1)
      #expect(client.statistics.requests == 3)
    }
  }

  @Test("A chunked answer is put together, and its trailers are no fields")
  func chunked() async throws {
    try await withServer { peer in
      while try peer.request() != nil {
        try peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n")
        try peer.write("3\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 2\r\n\r\n")
      }
    } _: { client, server in
      let response = try await client.send(.get(server), with: .direct())
      #expect(response.body == Array("abcde".utf8))
      #expect(response.header("X-A") == "1")
      #expect(response.header("X-Trailer") == nil)
    }
  }

  @Test("Interim answers are passed over")
  func interim() async throws {
    try await withServer { peer in
      while try peer.request() != nil {
        try peer.write("HTTP/1.1 102 Processing\r\nX-A: interim\r\n\r\n")
        try peer.write("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        try peer.answer(201, ["X-A: final"])
      }
    } _: { client, server in
      let response = try await client.send(.get(server), with: .direct())
      #expect(response.status == 201)
      #expect(response.header("X-A") == "final")
      #expect(response.header("Link") == nil)
    }
  }

  @Test("A redirect is an answer like others")
  func redirect() async throws {
    try await withServer { peer in
      while try peer.request() != nil { try peer.answer(307, ["Location: /elsewhere"]) }
    } _: { client, server in
      let response = try await client.send(.get(server), with: .direct())
      #expect(response.status == 307)
      #expect(response.header("Location") == "/elsewhere")
    }
  }

  @Test("A download goes to its place in the target", arguments: [0, 5, 700_000])
  func target(size: Int) async throws {
    let content = noise(size)
    try await withServer { peer in
      while try peer.request() != nil { try peer.answer(206, [], content) }
    } _: { client, server in
      let file = try ScratchFile([1, 2, 3])
      let moved = Tally()
      var traffic = HTTPTraffic.direct(target: file.target)
      traffic.moved = { moved.add($0) }
      var request = HTTPRequest.get(server)
      request.lane = .bulk
      request.sink = .target(offset: 3, length: Int64(size))
      let response = try await client.send(request, with: traffic)
      #expect(response.delivered == size)
      #expect(response.body == [])
      #expect(file.contents() == [1, 2, 3] + content)
      #expect(moved.sum == size)
    }
  }

  @Test("Of an answer that is no range nothing is taken where a range was asked for")
  func whole() async throws {
    try await withServer { peer in
      while try peer.request() != nil { try peer.answer(200, [], noise(20)) }
    } _: { client, server in
      let file = try ScratchFile([1, 2, 3])
      let moved = Tally()
      var traffic = HTTPTraffic.direct(target: file.target)
      traffic.moved = { moved.add($0) }
      for sink in [HTTPSinkKind.target(offset: 3, length: 10), .memory(limit: 30)] {
        var request = HTTPRequest.get(server)
        request.headers.append(HTTPHeader("Range", "bytes=3-12"))
        request.sink = sink
        let response = try await client.send(request, with: traffic)
        #expect(response.status == 200)
        #expect(response.isCut)
        #expect(response.delivered == 0)
        #expect(response.body == [])
      }
      #expect(file.contents() == [1, 2, 3])
      #expect(moved.sum == 0)
    }
  }

  @Test("Of what has no end only the beginning is fetched")
  func beginning() async throws {
    try await withServer { peer in
      guard try peer.request() != nil else { return }
      try peer.write("HTTP/1.1 200 OK\r\n\r\n")
      while true { try peer.write(Array("0123456789".utf8)) }
    } _: { client, server in
      var request = HTTPRequest.get(server)
      request.sink = .beginning(limit: 10_000)
      let response = try await client.send(request, with: .direct())
      #expect(response.isCut)
      #expect(response.body.count == 10_000)
      #expect(response.body.prefix(25) == Array("0123456789012345678901234".utf8)[...])
    }
  }

  @Test("IPv6 addresses work")
  func ipv6() async throws {
    try await withServer(ipv6: true) { peer in
      while let request = try peer.request() {
        try peer.answer(200, [], Array((request.field("Host") ?? "").utf8))
      }
    } _: { client, server in
      let response = try await client.send(.get(server), with: .direct())
      #expect(response.body == Array("[::1]:\(server.port)".utf8))
    }
  }

  @Test("A configured proxy is asked for the whole URL")
  func proxy() async throws {
    let seen = Kept<SeenRequest>()
    try await withServer { peer in
      while let request = try peer.request() {
        seen.keep(request)
        try peer.answer(200)
      }
    } _: { client, server in
      let request = HTTPRequest(.get, origin: "http://nowhere.invalid:81", path: "/x")
      let options = HTTPOptions(proxy: .url(server.origin))
      let response = try await client.send(request, with: HTTPTraffic(options: options))
      #expect(response.status == 200)
      #expect(seen.all.first?.line == "GET http://nowhere.invalid:81/x HTTP/1.1")
    }
  }

  @Test(
    "What cannot be written as HTTP is refused before anything is sent",
    arguments: [
      HTTPRequest(.get, origin: "ftp://127.0.0.1", path: "/"),
      HTTPRequest(.get, origin: "http://user:secret@127.0.0.1", path: "/"),
      HTTPRequest(.get, origin: "http://127.0.0.1/x", path: "/"),
      HTTPRequest(.get, origin: "http://127.0.0.1", path: "x"),
      HTTPRequest(.get, origin: "http://127.0.0.1", path: "/a b"),
      HTTPRequest(.get, origin: "http://127.0.0.1", path: "/", query: "a\r\nX: secret"),
      HTTPRequest(
        .get,
        origin: "http://127.0.0.1",
        path: "/",
        headers: [HTTPHeader("X", "1\r\nY: secret")]
      ),
      HTTPRequest(
        .get,
        origin: "http://127.0.0.1",
        path: "/",
        headers: [HTTPHeader("X:", "secret")]
      ),
    ]
  )
  func refused(request: HTTPRequest) async throws {
    let client = HTTPClient(userAgent: "ferry/test", limits: patientLimits)
    let error = await failure { () async throws(TransferError) in
      try await client.send(request, with: .direct())
    }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains("secret") == false)
    #expect(client.statistics.requests == 0)
    await client.close()
  }
}
