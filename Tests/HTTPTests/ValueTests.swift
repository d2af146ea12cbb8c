import Testing
import TransferModel

@testable import HTTP

@Suite("Heads of answers")
struct AnswerHeadTests {
  private func head(_ lines: [[UInt8]]) -> AnswerHead {
    var head = AnswerHead()
    for line in lines {
      let isTaken = line.withUnsafeBytes { head.take($0) }
      #expect(isTaken)
    }
    return head
  }

  private func head(_ lines: [String]) -> AnswerHead {
    head(lines.map { Array($0.utf8) + [13, 10] })
  }

  @Test("Names and values are cut at the first colon and trimmed; a folded line goes on")
  func fields() {
    let head = head(["HTTP/1.1 200 OK", "A:  x:y \t", "B:", "C: one", "\ttwo", "no colon", ""])
    #expect(head.isComplete)
    #expect(
      head.headers == [HTTPHeader("A", "x:y"), HTTPHeader("B", ""), HTTPHeader("C", "one two")]
    )
  }

  @Test("It is complete with the final answer's last line only")
  func interim() {
    #expect(!head(["HTTP/1.1 100 Continue", "A: 1", ""]).isComplete)
    #expect(!head(["HTTP/1.1 200"]).isComplete)
    let whole = head(["HTTP/1.1 100 Continue", "A: 1", "", "HTTP/1.1 404", "B: 2", "", "C: 3"])
    #expect(whole.status == 404)
    #expect(whole.headers == [HTTPHeader("B", "2")])
  }

  @Test("A value that is no UTF-8 is read as ISO 8859-1")
  func encodings() {
    let head = head([
      Array("HTTP/1.1 200 OK\r\n".utf8), Array("A: caf".utf8) + [0xe9, 13, 10],
      Array("B: café\r\n".utf8),
    ])
    #expect(head.headers == [HTTPHeader("A", "café"), HTTPHeader("B", "café")])
  }
}

@Suite("Noticing a stall")
struct StallWatchTests {
  private let start = ContinuousClock.now

  @Test("Anything that moves, and each new phase, begins the time anew")
  func movement() {
    var watch = StallWatch(now: start, stallTimeout: .seconds(30), answerTimeout: .seconds(60))
    var counters = StallWatch.Counters()
    func look(_ phase: StallWatch.Phase, _ seconds: Int) -> Bool {
      watch.look(phase, counters, now: start + .seconds(seconds))
    }
    // Connecting has libcurl's own limit.
    #expect(!look(.connecting, 1000))
    #expect(!look(.sending, 1000))
    #expect(!look(.sending, 1029))
    counters.uploaded = 1
    #expect(!look(.sending, 1040))
    counters.unacknowledged = 5
    #expect(!look(.sending, 1069))
    #expect(look(.sending, 1099))
    #expect(!look(.awaiting, 1100))
    #expect(!look(.awaiting, 1159))
    #expect(look(.awaiting, 1160))
    #expect(!look(.receiving, 1161))
    counters.received = 1
    #expect(!look(.receiving, 1190))
    #expect(look(.receiving, 1220))
  }

  @Test("After a pause of ours the time begins anew")
  func pause() {
    var watch = StallWatch(now: start, stallTimeout: .seconds(30), answerTimeout: .seconds(60))
    let first = watch.look(.sending, .init(), now: start)
    watch.resume(now: start + .seconds(100))
    let before = watch.look(.sending, .init(), now: start + .seconds(129))
    let after = watch.look(.sending, .init(), now: start + .seconds(130))
    #expect([first, before, after] == [false, false, true])
  }
}

@Suite("Reading a body")
struct BodyReaderTests {
  @Test("Read in pieces of any size and from any place, it is the same", arguments: 1...9)
  func pieces(step: Int) throws {
    let source = Array("0123456789".utf8)
    let pieces: [HTTPBodyPiece] = [
      .bytes(Array("ab".utf8)), .bytes([]), .source(3..<7), .source(5..<5), .bytes(Array("c".utf8)),
      .source(0..<2),
    ]
    let whole = Array("ab3456c01".utf8)
    var reader = BodyReader(pieces, source: .bytes(source))
    #expect(reader.length == 9)
    for start in 0...9 {
      reader.seek(to: Int64(start))
      var seen: [UInt8] = []
      var room = [UInt8](repeating: 0, count: step)
      while true {
        let count = try room.withUnsafeMutableBytes { try reader.read(into: $0) }
        if count == 0 { break }
        seen += room[..<count]
      }
      #expect(seen == Array(whole[start...]))
      #expect(reader.offset == 9)
    }
    #expect((0...9).map { reader.sourceBytes(inFirst: $0) } == [0, 0, 0, 1, 2, 3, 4, 4, 5, 6])
  }
}
