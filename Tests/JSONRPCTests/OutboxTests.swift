import Glibc
import JSON
@testable import JSONRPC
import Synchronization
import Testing

@Suite("Outbox") struct OutboxTests {
  static func sequence(_ line: String) throws -> Int64 {
    try #require(try params(line)["seq"].flatMap { Int64($0) })
  }

  static func bounds(soft: Int, refusals: Int = 4 << 20) -> Outbox.Bounds {
    var bounds = Outbox.Bounds()
    bounds.soft = soft
    bounds.refusals = refusals
    return bounds
  }

  @Test func `a notification begins with its number`() {
    let host = TestHost()
    host.outbox.notify("started") { $0.field("transferId", "t") }
    host.outbox.notify("empty") { _ in }
    #expect(
      host.line() == #"{"jsonrpc":"2.0","method":"started","params":{"seq":1,"transferId":"t"}}"#
    )
    #expect(host.line() == #"{"jsonrpc":"2.0","method":"empty","params":{"seq":2}}"#)
  }

  @Test func `methods opted out of are dropped before they are built`() {
    let host = TestHost()
    host.outbox.optOut(of: ["progress"])
    host.outbox.notify("progress") { _ in Issue.record("it was built") }
    host.outbox.notify("started") { _ in }
    #expect(host.line() == #"{"jsonrpc":"2.0","method":"started","params":{"seq":1}}"#)
  }

  @Test func `lines of sixteen threads come whole and numbered in order to a slow reader`() throws {
    let host = TestHost()
    let body = String(repeating: "x", count: 700)
    for thread in 0..<16 {
      DedicatedThread.start("notifier") { [outbox = host.outbox] in
        for index in 0..<250 {
          outbox.notify("n") { writer in
            writer.field("thread", thread)
            writer.field("index", index)
            writer.field("body", body)
          }
        }
      }
    }
    var lastIndex = [Int](repeating: -1, count: 16)
    for expected in 1...4000 {
      let line = try #require(host.line())
      #expect(try Self.sequence(line) == Int64(expected))
      let params = try params(line)
      let thread = try #require(params["thread"].flatMap { Int($0) })
      let index = try #require(params["index"].flatMap { Int($0) })
      #expect(index == lastIndex[thread] + 1)
      lastIndex[thread] = index
    }
  }

  @Test func `no progress follows the last event of its transfer`() throws {
    let running = Monitor<Set<Int>>([])
    let host = TestHost(progressInterval: .microseconds(50))
    host.outbox.progressSource { batch in
      let ids = running.withLock { $0 }
      for id in ids { batch.notify("progress") { $0.field("id", id) } }
      return !ids.isEmpty
    }
    DedicatedThread.start("engine") { [outbox = host.outbox] in
      for id in 0..<2000 {
        running.change { _ = $0.insert(id) }
        outbox.setProgressActive(true)
        if id >= 8 {
          running.change { _ = $0.remove(id - 8) }
          outbox.notify("done") { $0.field("id", id - 8) }
        }
      }
      outbox.notify("end") { _ in }
    }
    var done: Set<String> = []
    var progressCount = 0
    var sequence: Int64 = 0
    while true {
      let line = try #require(host.line())
      let message = try members(line)
      let id = try params(line)["id"]
      #expect(try Self.sequence(line) == sequence + 1)
      sequence += 1
      if message["method"] == #""end""# { break }
      if message["method"] == #""done""# { done.insert(id ?? "") }
      if message["method"] == #""progress""# {
        progressCount += 1
        #expect(!done.contains(id ?? ""))
      }
    }
    #expect(progressCount > 0)
  }

  @Test func `the progress source rests once it says there is no more`() throws {
    let calls = Monitor(0)
    let host = TestHost(progressInterval: .milliseconds(1))
    host.outbox.progressSource { batch in
      let count = calls.change { count in
        count += 1
        return count
      }
      batch.notify("progress") { $0.field("n", count) }
      return count % 3 != 0
    }
    host.outbox.setProgressActive(true)
    for _ in 0..<3 { _ = host.line() }
    // Activated anew, so the fourth call must come from this, and three in all.
    host.outbox.setProgressActive(true)
    for expected in 4...6 {
      #expect(host.line()?.contains(#""n":\#(expected)}"#) == true)
    }
    #expect(calls.withLock { $0 } == 6)
  }

  @Test func `unread output congests, leaves out progress, and drains`() throws {
    let drained = Monitor(0)
    let ticked = Monitor(0)
    let host = TestHost(bounds: Self.bounds(soft: 300_000), progressInterval: .milliseconds(1))
    host.outbox.onDrained { drained.change { $0 += 1 } }
    host.outbox.progressSource { batch in
      ticked.change { $0 += 1 }
      batch.notify("progress") { _ in }
      return true
    }
    let body = String(repeating: "x", count: 10_000)
    for _ in 0..<60 { host.outbox.notify("done") { $0.field("body", body) } }
    #expect(host.outbox.isCongested)
    #expect(host.outbox.queuedBytes > 300_000)
    #expect(!host.outbox.flush(until: .now))
    host.outbox.setProgressActive(true)
    for expected in 1...60 {
      let line = try #require(host.line())
      #expect(try Self.sequence(line) == Int64(expected))
    }
    drained.wait { $0 == 1 ? .done(()) : .again(until: nil) }
    #expect(!host.outbox.isCongested)
    // Ticks come again now.
    #expect(host.line()?.contains(#""method":"progress""#) == true)
    host.outbox.setProgressActive(false)
    #expect(drained.withLock { $0 } == 1)
  }

  @Test func `progress left out while blocked is counted`() throws {
    let host = TestHost(bounds: Self.bounds(soft: 100_000), progressInterval: .microseconds(1))
    host.outbox.progressSource { _ in true }
    host.outbox.setProgressActive(true)
    let body = String(repeating: "x", count: 10_000)
    for _ in 0..<60 { host.outbox.notify("done") { $0.field("body", body) } }
    for _ in 0..<60 { _ = host.line() }
    // One more message, so that the writer has looked at the clock after it was blocked.
    host.outbox.notify("done") { _ in }
    _ = host.line()
    #expect(host.outbox.droppedProgress > 0)
    host.outbox.setProgressActive(false)
  }

  @Test func `the reader stops when refusals fill the lane, says so once, and loses nothing`()
    throws
  {
    let soft = 50_000
    let refusals = 50_000
    let host = TestHost(bounds: Self.bounds(soft: soft, refusals: refusals)) { router in
      router.gate = { _ in .overloaded }
    }
    let count = 5_000
    DedicatedThread.start("host") { [host] in
      host.send((0..<count).map { ProtocolTests.ping("\($0)") + "\n" }.joined())
      host.shutdownInput()
    }
    host.logged.wait { $0.isEmpty ? .again(until: nil) : .done(()) }
    #expect(host.outbox.queuedBytes <= soft + refusals + 1000)
    for id in 0..<count {
      let line = try #require(host.line())
      #expect(line.hasPrefix(#"{"jsonrpc":"2.0","id":\#(id),"error":{"code":1702,"#))
    }
    #expect(host.endOfInput() == .closed)
    #expect(host.logged.withLock { $0.count } == 1)
  }

  @Test func `lost output is told once and later output costs nothing`() {
    let reasons = Monitor<[Int32]>([])
    let host = TestHost()
    host.outbox.onLost { reason in reasons.change { $0.append(reason) } }
    host.stopReading()
    host.outbox.notify("a") { _ in }
    reasons.wait { $0.isEmpty ? .again(until: nil) : .done(()) }
    host.outbox.notify("b") { _ in Issue.record("it was built") }
    host.send(ProtocolTests.ping("1") + "\n")
    host.shutdownInput()
    #expect(host.endOfInput() == .closed)
    #expect(host.outbox.queuedBytes == 0)
    #expect(!host.outbox.flush(until: .now + .seconds(10)))
    #expect(reasons.withLock { $0 } == [EPIPE])
    // Whoever asks late is told at once.
    let late = Monitor<[Int32]>([])
    host.outbox.onLost { reason in late.change { $0.append(reason) } }
    #expect(late.withLock { $0 } == [EPIPE])
  }

  @Test func `a reader that waits for room goes on when the output is lost`() {
    let host = TestHost(bounds: Self.bounds(soft: 1000, refusals: 1000))
    DedicatedThread.start("host") { [host] in
      host.send((0..<20_000).map { ProtocolTests.ping("\($0)") + "\n" }.joined())
      host.shutdownInput()
    }
    host.logged.wait { $0.isEmpty ? .again(until: nil) : .done(()) }
    host.stopReading()
    #expect(host.endOfInput() == .closed)
  }

  @Test func `headers count bytes`() {
    let host = TestHost()
    host.outbox.use(.headers)
    host.outbox.notify("é") { _ in }
    host.outbox.notify("x") { _ in }
    #expect(host.line() == "Content-Length: 50\r")
    #expect(host.line() == "\r")
    #expect(
      host.line() == #"{"jsonrpc":"2.0","method":"é","params":{"seq":1}}Content-Length: 49"# + "\r"
    )
  }

  @Test func `a non-blocking output is waited for, not given up`() throws {
    let ends = makePipe()
    var on: Int32 = 1
    #expect(ioctl(ends.write, UInt(FIONBIO), &on) == 0)
    let outbox = Outbox(output: ends.write)
    let body = String(repeating: "x", count: 200_000)
    outbox.notify("a") { $0.field("body", body) }
    var received = 0
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while received < 200_000 {
      let count = read(ends.read, &bytes, bytes.count)
      try #require(count > 0)
      received += count
    }
    #expect(outbox.flush(until: .now + .seconds(10)))
    close(ends.read)
    close(ends.write)
  }
}
