import Backends
import Testing
import TransferModel

@testable import S3Backend

/// What becomes of a download after a failure or a kill.
extension S3DownloadTests {
  @Test("A later process fetches only what is missing, of an object that is still the same")
  func recovered() throws {
    var talk = try begin()
    let exchanges = try (0..<3).map { _ in try talk.exchange("GET /b/k") }
    let middle = bytes(9 * Self.mib..<17 * Self.mib, of: 20 * Self.mib, inMemory: false)
    talk.backend.receive(.answered(id: exchanges[1].id, middle))
    let checkpoint = try #require(talk.backend.checkpoint)
    #expect(String(validating: checkpoint, as: UTF8.self) != nil)
    for (etag, isKept, missing) in [
      ("\"e\"", true, ["bytes=1048576-9437183", "bytes=17825792-20971519"]),
      ("\"e\"", false, ["bytes=0-1048575", "bytes=1048576-9437183", "bytes=9437184-17825791"]),
      ("\"n\"", false, ["bytes=0-1048575", "bytes=1048576-9437183"]),
    ] {
      var later = try download()
      later.backend.recover(checkpoint)
      #expect(later.backend.checkpoint == checkpoint)
      try later.ask("HEAD /b/k", answer(200, objectHeaders(size: Int(20 * Self.mib), etag: etag)))
      later.perform(incoming(20 * Self.mib, etag: etag.unquoted), .targetOpened(isKept: isKept))
      for range in missing {
        let exchange = try later.exchange("GET /b/k")
        #expect(exchange.request.header("range") == range)
        #expect(exchange.request.header("if-match") == etag)
      }
    }
  }

  @Test("A later process whose part holds everything only finishes it")
  func recoveredComplete() throws {
    let checkpoint = DownloadCheckpoint(
      etag: "\"e\"",
      size: 2 * Self.mib,
      pieces: "1048576/8388608:0-1"
    )
    var later = try download()
    later.backend.recover(checkpoint.text)
    try later.ask("HEAD /b/k", answer(200, objectHeaders(size: Int(2 * Self.mib))))
    later.perform(incoming(2 * Self.mib), .targetOpened(isKept: true))
    later.perform(.finishTarget, .targetFinished(Self.finished))
    _ = try later.result()
  }

  @Test("A stopped piece is fetched again; after a failure everything is")
  func interrupted() throws {
    var talk = try begin()
    let exchange = try talk.exchange("GET /b/k")
    talk.backend.receive(.interrupted(id: exchange.id))
    let again = try talk.exchange("GET /b/k")
    #expect(again.request == exchange.request)
    #expect(again.id != exchange.id)
    talk.backend.restart()
    #expect(try talk.exchange("GET /b/k").request.header("range") == Self.first)
  }

  @Test(
    "What is no checkpoint is none",
    arguments: ["", "{", "{\"etag\":\"e\"}", "{\"etag\":\"e\",\"size\":-1,\"pieces\":\"x\"}"]
  )
  func badCheckpoint(_ text: String) throws {
    var talk = try download()
    talk.backend.recover(Array(text.utf8))
    guard case .http = talk.backend.next() else {
      Issue.record("nothing is asked")
      return
    }
  }

  @Test(
    "Which pieces are there comes back, and nonsense means none",
    arguments: [
      ("1048576/8388608:", 0), ("1048576/8388608:0", 1 << 20), ("1048576/8388608:0-3", 20 << 20),
      ("1048576/8388608:0,2", 4 << 20), ("1048576/4194304:0-2", 0), ("", 0),
      ("1048576/8388608:9", 0),
      ("1048576/8388608:2-1", 0), ("1048576/8388608:-1", 0), ("1048576/8388608:x,1", 8 << 20),
    ] as [(String, Int64)]
  )
  func plan(_ text: String, _ settled: Int64) {
    let size: Int64 = settled == 20 << 20 ? 20 << 20 : settled == 4 << 20 ? 12 << 20 : 20 << 20
    let plan = RangePlan(size: size, text: text)
    #expect(plan.settled == settled)
    #expect(RangePlan(size: size, text: plan.text) == plan)
  }
}
