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
      let request1 = try #require(seen.all.first)
      #expect(request1.line == "GET /a/../b//%C3%A9?x=%20&y= HTTP/1.1")
      #expect(request1.field("X-One") == "1")
      #expect(request1.field("X-None") == "")
      #expect(request1.field("User-Agent") == "ferry/test")
      #expect(request1.field("Content-Length") == nil)
      #expect(request1.field("Accept-Encoding") == nil)
    }
  }

  @Test(
    "A body of pieces goes out whole, with its length and without Expect",
    arguments: [0, 1, 3_000_000]
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
}
