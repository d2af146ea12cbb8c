import Backends
import Configuration
import JSON
import Testing
import TransferModel

@testable import S3Backend

@Suite("Downloads")
struct S3DownloadTests {
  static let mib: Int64 = 1 << 20
  static let first = "bytes=0-1048575"

  func download(
    _ remote: S3Remote = makeRemote(),
    path: String = "k",
    range: ByteRange? = nil,
    target: TransferTarget = .path("/t", overwrite: false)
  ) throws -> Conversation {
    Conversation(backend: try S3Download(remote, path: path, range: range, target: target))
  }

  /// An answer with bytes of an object of some size; the status is not what tells.
  func bytes(
    _ range: Range<Int64>,
    of size: Int64,
    etag: String = "\"e\"",
    status: Int = 206,
    inMemory: Bool = true,
    _ more: [String: String] = [:]
  ) -> HTTPResponse {
    let count = Int(range.count)
    var headers = objectHeaders(size: count, etag: etag, more)
    headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    var response = answer(status, headers)
    if inMemory {
      response.body = [UInt8](repeating: 7, count: count)
    } else {
      response.delivered = Int64(count)
    }
    return response
  }

  func incoming(
    _ size: Int64,
    of whole: Int64? = nil,
    etag: String = "e",
    sha256: String? = nil,
    md5: String? = nil
  ) -> ContentOperation {
    .openTarget(
      IncomingContent(
        size: size,
        name: "k",
        identity: "\(etag) \(whole ?? size)",
        sha256: sha256,
        md5: md5
      )
    )
  }

  static let finished = TransferResult.Download(
    path: "/t",
    isTemporary: false,
    size: 0,
    sha256: nil,
    metadata: nil,
    data: nil
  )

  func sevens(_ count: Int64) -> [UInt8] { [UInt8](repeating: 7, count: Int(count)) }

  /// Takes in the first MiB of an object of 20.
  func begin(_ remote: S3Remote = makeRemote()) throws -> Conversation {
    var talk = try download(remote)
    try talk.ask("GET /b/k", bytes(0..<Self.mib, of: 20 * Self.mib))
    talk.perform(incoming(20 * Self.mib), .targetOpened(isKept: false))
    talk.perform(.write(sevens(Self.mib), at: 0), .written)
    return talk
  }

  @Test("A small object takes one request", arguments: [206, 200])
  func small(status: Int) throws {
    var talk = try download()
    let more = ["x-amz-meta-ferry-sha256": String(repeating: "a", count: 64), "x-amz-meta-k": "v"]
    let get = try talk.ask("GET /b/k", bytes(0..<5, of: 5, status: status, more))
    #expect(get.header("range") == Self.first)
    #expect(get.header("if-match") == nil)
    #expect(get.sink == .beginning(limit: 1 << 20))
    #expect(get.lane == .bulk)
    talk.perform(
      incoming(5, sha256: String(repeating: "a", count: 64)),
      .targetOpened(isKept: false)
    )
    talk.perform(.write(sevens(5), at: 0), .written)
    talk.perform(.finishTarget, .targetFinished(Self.finished))
    guard case .downloaded(let download) = try talk.result() else { return }
    #expect(download.metadata?.size == 5)
    #expect(download.metadata?.settable.custom == ["k": "v"])
    #expect(talk.backend.settled == 5)
  }

  @Test("An object of no bytes is found out, however a server says it")
  func empty() throws {
    var refusing = try download()
    try refusing.ask("GET /b/k", fault(416, "InvalidRange", "", ["Content-Range": "bytes */0"]))
    try refusing.ask("HEAD /b/k", answer(200, objectHeaders(size: 0)))
    refusing.perform(incoming(0), .targetOpened(isKept: false))
    refusing.perform(.finishTarget, .targetFinished(Self.finished))
    _ = try refusing.result()
    var silent = try download()
    try silent.ask("GET /b/k", answer(200, objectHeaders(size: 0)))
    silent.perform(incoming(0), .targetOpened(isKept: false))
    silent.perform(.finishTarget, .targetFinished(Self.finished))
    _ = try silent.result()
  }

  @Test("A large object comes in ranges side by side, all of one version")
  func ranges() throws {
    var talk = try begin()
    #expect(talk.backend.width == 4)
    let exchanges = try (0..<3).map { _ in try talk.exchange("GET /b/k") }
    #expect(talk.backend.next() == .idle)
    #expect(
      exchanges.map { $0.request.header("range") } == [
        "bytes=1048576-9437183", "bytes=9437184-17825791", "bytes=17825792-20971519",
      ]
    )
    #expect(exchanges.allSatisfy { $0.request.header("if-match") == "\"e\"" })
    #expect(exchanges[1].request.sink == .target(offset: 9 * Self.mib, length: 8 * Self.mib))
    let ranges = [
      Self.mib..<9 * Self.mib, 9 * Self.mib..<17 * Self.mib, 17 * Self.mib..<20 * Self.mib,
    ]
    for index in [1, 2, 0] {
      #expect(talk.backend.next() == .idle)
      let status = index == 0 ? 200 : 206
      let part = bytes(ranges[index], of: 20 * Self.mib, status: status, inMemory: false)
      talk.backend.receive(.answered(id: exchanges[index].id, part))
    }
    #expect(talk.backend.settled == 20 * Self.mib)
    talk.perform(.finishTarget, .targetFinished(Self.finished))
    _ = try talk.result()
  }

  @Test("Streams and replies take the ranges one after the other, through memory")
  func inOrder() throws {
    for target in [TransferTarget.stream, .inline(maxSize: 100 << 20)] {
      var talk = try download(target: target)
      try talk.ask("GET /b/k", bytes(0..<Self.mib, of: 10 * Self.mib))
      talk.perform(incoming(10 * Self.mib), .targetOpened(isKept: false))
      talk.perform(.write(sevens(Self.mib), at: 0), .written)
      #expect(talk.backend.width == 1)
      let exchange = try talk.exchange("GET /b/k")
      #expect(exchange.request.sink == .memory(limit: Int(Self.mib)))
      #expect(talk.backend.next() == .idle)
      let piece = bytes(Self.mib..<2 * Self.mib, of: 10 * Self.mib)
      talk.backend.receive(.answered(id: exchange.id, piece))
      talk.perform(.write(sevens(Self.mib), at: Self.mib), .written)
      for start in 2..<10 {
        let range = Int64(start) * Self.mib..<Int64(start + 1) * Self.mib
        try talk.ask("GET /b/k", bytes(range, of: 10 * Self.mib))
        talk.perform(.write(sevens(Self.mib), at: range.lowerBound), .written)
      }
      talk.perform(.finishTarget, .targetFinished(Self.finished))
      #expect(talk.backend.checkpoint == nil)
    }
  }

  // MARK: Changes

  @Test(
    "An object that changes is fetched anew and never mixed",
    arguments: [
      fault(412, "PreconditionFailed"), fault(416, "InvalidRange"),
      answer(206, ["ETag": "\"other\"", "Content-Range": "bytes 1048576-9437183/20971520"]),
    ]
  )
  func changed(_ response: HTTPResponse) throws {
    var talk = try begin()
    let exchanges = try (0..<2).map { _ in try talk.exchange("GET /b/k") }
    talk.backend.receive(.answered(id: exchanges[0].id, response))
    // What is under way writes to the old target: it is waited for.
    #expect(talk.backend.next() == .idle)
    let late = bytes(9 * Self.mib..<17 * Self.mib, of: 20 * Self.mib, inMemory: false)
    talk.backend.receive(.answered(id: exchanges[1].id, late))
    #expect(talk.backend.settled == 0)
    let again = try talk.ask("GET /b/k", bytes(0..<5, of: 5, etag: "\"other\""))
    #expect(again.header("range") == Self.first)
    talk.perform(incoming(5, etag: "other"), .targetOpened(isKept: false))
    talk.perform(.write(sevens(5), at: 0), .written)
    talk.perform(.finishTarget, .targetFinished(Self.finished))
    _ = try talk.result()
  }

  @Test("An object that never stays the same fails in the end")
  func restless() throws {
    var talk = try begin()
    for change in 1...4 {
      try talk.ask("GET /b/k", fault(412, "PreconditionFailed"))
      guard change < 4 else { break }
      try talk.ask("GET /b/k", bytes(0..<Self.mib, of: 20 * Self.mib, etag: "\"\(change)\""))
      talk.perform(incoming(20 * Self.mib, etag: "\(change)"), .targetOpened(isKept: false))
      talk.perform(.write(sevens(Self.mib), at: 0), .written)
    }
    let error = try talk.failure()
    #expect(error.code == .checksumMismatch)
    #expect(error.isRetryable)
  }

  @Test("What a host has taken of a stream is not sent twice")
  func changedStream() throws {
    var talk = try download(target: .stream)
    try talk.ask("GET /b/k", bytes(0..<Self.mib, of: 2 * Self.mib))
    talk.perform(incoming(2 * Self.mib), .targetOpened(isKept: false))
    talk.perform(.write(sevens(Self.mib), at: 0), .written)
    try talk.ask("GET /b/k", fault(412, "PreconditionFailed"))
    #expect(try talk.failure().code == .checksumMismatch)
  }

  @Test("An object that is gone meanwhile is a failure")
  func gone() throws {
    var talk = try begin()
    try talk.ask("GET /b/k", fault(404, "NoSuchKey"))
    let error = try talk.failure()
    #expect(error.code == .notFound)
    #expect(error.phase == .download)
  }

  @Test(
    "Other bytes than were asked for are a failure, whatever the status",
    arguments: [
      answer(206, ["Content-Range": "bytes 0-9/100"], "short"),
      answer(206, ["Content-Range": "bytes 1-5/100"], "12345"),
      answer(206, ["Content-Range": "bytes 0-4/*"], "12345"),
      answer(206, ["Content-Range": "bytes 0-4/100"], "12345"),
    ]
  )
  func wrongBytes(_ response: HTTPResponse) throws {
    var talk = try download()
    try talk.ask("GET /b/k", response)
    let error = try talk.failure()
    #expect(error.code == .server)
    #expect(error.isRetryable)
  }

  @Test("A size that no store holds is a failure and no plan", arguments: [Int64.max, 1 << 50])
  func absurdSize(_ size: Int64) throws {
    var talk = try download()
    try talk.ask("GET /b/k", bytes(0..<Self.mib, of: size))
    #expect(try talk.failure().code == .server)
    var looking = try download(range: ByteRange(offset: 2, length: 0))
    try looking.ask("HEAD /b/k", answer(200, objectHeaders(size: Int(size))))
    #expect(try looking.failure().code == .server)
  }

  @Test("An object that looks like an error is an object")
  func errorAsContent() throws {
    var talk = try download()
    let body = "<Error><Code>NoSuchKey</Code></Error>"
    var headers = objectHeaders(size: body.utf8.count)
    headers["Content-Range"] = "bytes 0-\(body.utf8.count - 1)/\(body.utf8.count)"
    try talk.ask("GET /b/k", answer(206, headers, body))
    talk.perform(incoming(Int64(body.utf8.count)), .targetOpened(isKept: false))
    talk.perform(.write(Array(body.utf8), at: 0), .written)
  }

  @Test("A wrong range later on is a failure, too few bytes too")
  func wrongPiece() throws {
    for range in [0..<8 * Self.mib, Self.mib..<9 * Self.mib - 1] {
      var talk = try begin()
      try talk.ask("GET /b/k", bytes(range, of: 20 * Self.mib, inMemory: false))
      #expect(try talk.failure().code == .server)
    }
  }

  // MARK: Ranges that were asked for

  @Test(
    "A range is cut at the end, and its digests are not the object's",
    arguments: [
      (ByteRange(offset: 2, length: 2), "bytes=2-3", Int64(2)..<4),
      (ByteRange(offset: 2, length: 100), "bytes=2-101", 2..<5),
      (ByteRange(offset: 2, length: nil), "bytes=2-1048577", 2..<5),
    ]
  )
  func range(_ wanted: ByteRange, _ header: String, _ came: Range<Int64>) throws {
    var talk = try download(range: wanted)
    let sha256 = ["x-amz-meta-ferry-sha256": String(repeating: "a", count: 64)]
    #expect(try talk.ask("GET /b/k", bytes(came, of: 5, sha256)).header("range") == header)
    talk.perform(incoming(Int64(came.count), of: 5), .targetOpened(isKept: false))
    talk.perform(.write(sevens(Int64(came.count)), at: 0), .written)
    talk.perform(.finishTarget, .targetFinished(Self.finished))
  }

  @Test("A range behind the end, at the end, and of nothing")
  func edges() throws {
    var behind = try download(range: ByteRange(offset: 6, length: 1))
    try behind.ask("GET /b/k", fault(416, "InvalidRange"))
    try behind.ask("HEAD /b/k", answer(200, objectHeaders(size: 5)))
    let error = try behind.failure()
    #expect(error.code == .invalidArgument)
    #expect(error.field == "/range/offset")
    var end = try download(range: ByteRange(offset: 5, length: 1))
    try end.ask("GET /b/k", fault(416, "InvalidRange"))
    try end.ask("HEAD /b/k", answer(200, objectHeaders(size: 5)))
    end.perform(incoming(0, of: 5), .targetOpened(isKept: false))
    end.perform(.finishTarget, .targetFinished(Self.finished))
    var nothing = try download(range: ByteRange(offset: 2, length: 0))
    try nothing.ask("HEAD /b/k", answer(200, objectHeaders(size: 5)))
    nothing.perform(incoming(0, of: 5), .targetOpened(isKept: false))
    nothing.perform(.finishTarget, .targetFinished(Self.finished))
    var far = try download(range: ByteRange(offset: .max, length: nil))
    try far.ask("HEAD /b/k", answer(200, objectHeaders(size: 5)))
    #expect(try far.failure().code == .invalidArgument)
  }

  @Test("A large range is fetched in pieces of its own")
  func largeRange() throws {
    var talk = try download(range: ByteRange(offset: 100, length: 3 * Self.mib))
    try talk.ask("GET /b/k", bytes(100..<100 + Self.mib, of: 20 * Self.mib))
    talk.perform(incoming(3 * Self.mib, of: 20 * Self.mib), .targetOpened(isKept: false))
    talk.perform(.write(sevens(Self.mib), at: 0), .written)
    let rest = try talk.exchange("GET /b/k").request
    #expect(rest.header("range") == "bytes=\(100 + Self.mib)-\(99 + 3 * Self.mib)")
    #expect(rest.sink == .target(offset: Self.mib, length: 2 * Self.mib))
  }

  // MARK: What is fetched

  @Test("Only a cheap MD5 is compared, where nothing better is known")
  func md5() throws {
    let md5 = "5d41402abc4b2a76b9719d911017c592"
    var small = try download()
    try small.ask("GET /b/k", bytes(0..<5, of: 5, etag: "\"\(md5)\""))
    small.perform(incoming(5, etag: md5, md5: md5), .targetOpened(isKept: false))
    var large = try download()
    try large.ask("GET /b/k", bytes(0..<Self.mib, of: 17 * Self.mib, etag: "\"\(md5)\""))
    large.perform(incoming(17 * Self.mib, etag: md5), .targetOpened(isKept: false))
  }

  @Test("A missing object, and a name that a server would alias")
  func refused() throws {
    var missing = try download()
    try missing.ask("GET /b/k", fault(404, "NoSuchKey"))
    #expect(try missing.failure().code == .notFound)
    var delicate = try download(makeRemote { $0.provider = .auto }, path: "a\\b")
    try delicate.ask("HEAD /b", answer(200, ["Server": "SeaweedFS 4"]))
    #expect(try delicate.failure().code == .invalidReference)
  }

  @Test("Files of channels are fetched by key and by URL")
  func files() throws {
    func spec(_ locator: FileLocator) throws -> TransferSpec {
      TransferSpec(
        id: try #require(TransferID("t")),
        remote: "r",
        operation: .downloadFile(DownloadFile(locator, target: .temporary)),
        computesDigest: true,
        reportsProgress: true,
        origin: TransferOrigin(method: "m", params: .init(validated: []), sourceIdentity: ""),
        root: "/"
      )
    }
    let remote = makeRemote()
    let key = try remote.download(spec(.key(channel: "c", id: "1", name: "a b")))
    var talk = Conversation(backend: key)
    _ = try talk.exchange("GET /b/channels/c/files/1/a%20b")
    let url = "http://127.0.0.1:9000/b/channels/c/files/1/a%20b?X-Amz-Signature=1"
    talk = Conversation(backend: try remote.download(spec(.url(url))))
    try talk.ask("GET /b/channels/c/files/1/a%20b", bytes(0..<5, of: 5))
    guard case .content(.openTarget(let incoming)) = talk.backend.next() else { return }
    #expect(incoming.name == "a b")
    talk.backend.receive(.targetOpened(isKept: false))
    talk.perform(.write(sevens(5), at: 0), .written)
    talk.perform(.finishTarget, .targetFinished(Self.finished))
    #expect(try talk.result() == .downloaded(Self.finished), "a file has no metadata of an object")
    #expect(throws: TransferError.self) {
      try remote.download(spec(.url("http://127.0.0.1:9000/b")))
    }
  }

  @Test(
    "Content-Range is read, or is none",
    arguments: [
      ("bytes 0-4/5", 0..<5, 5), ("bytes 2-2/*", 2..<3, nil), ("bytes */5", nil, nil),
      ("0-4/5", nil, nil),
      ("bytes 5-4/9", nil, nil), ("bytes -1-4/9", nil, nil),
      ("bytes 0-9223372036854775807/1", nil, nil), ("bytes 0-4/-1", 0..<5, nil),
      ("bytes 0-4/4", 0..<5, nil), ("bytes 0-4/5\r", 0..<5, nil),
    ] as [(String, Range<Int64>?, Int64?)]
  )
  func contentRange(_ text: String, _ range: Range<Int64>?, _ total: Int64?) {
    let found = ContentRange(answer(206, ["content-range": text]))
    #expect(found?.range == range)
    #expect(found?.total == total)
    #expect(ContentRange(answer(200)) == nil)
  }
}
