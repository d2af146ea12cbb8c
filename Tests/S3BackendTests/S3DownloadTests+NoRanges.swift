import Backends
import Testing
import TransferModel

@testable import S3Backend

/// Servers without ranges, or without a way to tell of which version they are.
extension S3DownloadTests {
  @Test("A server that sends everything anyway is taken at its word where it fits")
  func noRanges() throws {
    var talk = try download(range: ByteRange(offset: 1, length: 3))
    var response = answer(200, objectHeaders(size: 5), "hello")
    #expect(try talk.ask("GET /b/k", response).header("range") == "bytes=1-3")
    talk.perform(incoming(3, of: 5), .targetOpened(isKept: false))
    talk.perform(.write(Array("ell".utf8), at: 0), .written)
    talk.perform(.finishTarget, .targetFinished(Self.finished))
    // Larger than the first piece, in one answer to a file.
    talk = try download()
    response = answer(200, objectHeaders(size: Int(3 * Self.mib)))
    response.body = sevens(Self.mib)
    response.isCut = true
    try talk.ask("GET /b/k", response)
    talk.perform(incoming(3 * Self.mib), .targetOpened(isKept: false))
    let whole = try talk.ask(
      "GET /b/k",
      answer(200, objectHeaders(size: Int(3 * Self.mib)), delivered: 3 * Self.mib)
    )
    #expect(whole.header("range") == nil)
    #expect(whole.sink == .target(offset: 0, length: 3 * Self.mib))
    #expect(talk.backend.checkpoint == nil)
    talk.perform(.finishTarget, .targetFinished(Self.finished))
    _ = try talk.result()
  }

  @Test("A server that gives the first range alone is asked for everything; nothing counts twice")
  func noMoreRanges() throws {
    var talk = try begin()
    let pieces = try (0..<2).map { _ in try talk.exchange("GET /b/k") }
    #expect(talk.backend.settled == Self.mib)
    var everything = answer(200, objectHeaders(size: Int(20 * Self.mib)))
    everything.isCut = true
    talk.backend.receive(.answered(id: pieces[0].id, everything))
    #expect(talk.backend.settled == 0)
    // What is under way writes to the old target.
    #expect(talk.backend.next() == .idle)
    talk.backend.receive(.answered(id: pieces[1].id, everything))
    try talk.ask("GET /b/k", bytes(0..<Self.mib, of: 20 * Self.mib))
    talk.perform(incoming(20 * Self.mib), .targetOpened(isKept: false))
    #expect(talk.backend.settled == 0)
    #expect(talk.backend.checkpoint == nil)
    let whole = answer(200, objectHeaders(size: 0), delivered: 20 * Self.mib)
    let request = try talk.ask("GET /b/k", whole)
    #expect(request.header("range") == nil)
    #expect(request.sink == .target(offset: 0, length: 20 * Self.mib))
    #expect(talk.backend.settled == 20 * Self.mib)
    talk.perform(.finishTarget, .targetFinished(Self.finished))
    _ = try talk.result()
    // A stream's host has taken the beginning.
    var stream = try download(target: .stream)
    try stream.ask("GET /b/k", bytes(0..<Self.mib, of: 3 * Self.mib))
    stream.perform(incoming(3 * Self.mib), .targetOpened(isKept: false))
    stream.perform(.write(sevens(Self.mib), at: 0), .written)
    try stream.ask("GET /b/k", everything)
    #expect(try stream.failure().code == .unsupported)
  }

  @Test("Elsewhere than to a file, or in part, such a server's large objects cannot be had")
  func noRangesElsewhere() throws {
    var response = answer(200, objectHeaders(size: Int(3 * Self.mib)))
    response.body = sevens(Self.mib)
    response.isCut = true
    let file = TransferTarget.path("/t", overwrite: true)
    for (range, target) in [
      (nil, .stream), (nil, .inline(maxSize: 1)), (ByteRange(offset: 5, length: nil), file),
    ] as [(ByteRange?, TransferTarget)] {
      var talk = try download(range: range, target: target)
      try talk.ask("GET /b/k", response)
      #expect(try talk.failure().code == .unsupported)
    }
  }

  @Test(
    "Without an ETag that can be asked for, a large object comes in one answer",
    arguments: ["", "W/\"e\"", "*", "\"\u{7}\"", "\"e\n\"", "\"é\"", "\"\u{7F}\""]
  )
  func unpinned(_ etag: String) throws {
    var talk = try download()
    try talk.ask("GET /b/k", bytes(0..<Self.mib, of: 3 * Self.mib, etag: etag))
    // From its start, so that no byte counts twice.
    talk.perform(incoming(3 * Self.mib, etag: etag.unquoted), .targetOpened(isKept: false))
    #expect(talk.backend.settled == 0)
    let whole = answer(200, ["ETag": etag], delivered: 3 * Self.mib)
    let request = try talk.ask("GET /b/k", whole)
    #expect(request.header("range") == nil)
    #expect(request.header("if-match") == nil)
    talk.perform(.finishTarget, .targetFinished(Self.finished))
  }

  @Test(
    "Without such an ETag, in pieces, it cannot be had",
    arguments: [
      (nil, .stream), (nil, .inline(maxSize: 9 << 20)),
      (ByteRange(offset: 0, length: 2 << 20), .path("/t", overwrite: false)),
    ] as [(ByteRange?, TransferTarget)]
  )
  func unpinnedPieces(_ range: ByteRange?, _ target: TransferTarget) throws {
    var talk = try download(range: range, target: target)
    try talk.ask("GET /b/k", bytes(0..<Self.mib, of: 3 * Self.mib, etag: ""))
    let error = try talk.failure()
    #expect(error.code == .unsupported)
    #expect(error.message.contains("ETag"))
    // What came in the first answer needs no ETag.
    talk = try download(target: .stream)
    try talk.ask("GET /b/k", bytes(0..<5, of: 5, etag: ""))
    talk.perform(incoming(5, etag: ""), .targetOpened(isKept: false))
  }
}
