import JSON
import Testing
import TransferModel

@testable import Sharing
@testable import TransferEngine

@Suite("What a batch decides")
struct BatchTests {
  static func batch(retries: Int = 0) -> Batch {
    Batch(
      BatchSettings(
        id: "b",
        remote: "r",
        destination: .channel("c"),
        pace: .init(concurrency: 1, retries: retries)
      )
    )
  }

  static func id(_ text: String) throws -> TransferID { try #require(TransferID(text)) }

  /// One thing that happens to a batch.
  enum Event {
    case add(String, limit: Int? = nil)
    case refuse(String)
    case moved(String, TransferState)
    case failed(String, isRetryable: Bool = false)
    case retry(String, isAsked: Bool = true)
    case remove(String)
    case beginCall, endCall
  }

  /// What is there after some events, and how often the batch was complete.
  struct Outcome: Equatable, CustomTestStringConvertible {
    var states: String
    var held: Int
    var completions: Int

    var testDescription: String { "\(states) held \(held) complete \(completions)" }
  }

  static let table: [(String, [Event], Outcome)] = [
    (
      "complete after the last end",
      [
        .beginCall, .add("1"), .add("2"), .endCall, .moved("1", .succeeded),
        .moved("2", .succeeded),
      ],
      Outcome(states: "1 succeeded, 2 succeeded", held: 2, completions: 1)
    ),
    (
      "not while a call comes in",
      [.beginCall, .add("1"), .moved("1", .succeeded), .add("2"), .endCall],
      Outcome(states: "1 succeeded, 2 queued", held: 2, completions: 0)
    ),
    (
      "at once for a call that brings nothing",
      [.beginCall, .endCall],
      Outcome(states: "", held: 0, completions: 1)
    ),
    (
      "each drain",
      [
        .beginCall, .add("1"), .endCall, .moved("1", .succeeded), .beginCall, .add("2"), .endCall,
        .moved("2", .succeeded),
      ],
      Outcome(states: "1 succeeded, 2 succeeded", held: 2, completions: 2)
    ),
    (
      "after the last one under way is removed",
      [.beginCall, .add("1"), .add("2"), .endCall, .moved("1", .succeeded), .remove("2")],
      Outcome(states: "1 succeeded", held: 1, completions: 1)
    ),
    (
      "not again when one that has ended is removed",
      [.beginCall, .add("1"), .endCall, .moved("1", .succeeded), .remove("1")],
      Outcome(states: "", held: 0, completions: 1)
    ),
    (
      "a paused file is waited for",
      [.beginCall, .add("1"), .endCall, .moved("1", .running), .moved("1", .paused)],
      Outcome(states: "1 paused", held: 1, completions: 0)
    ),
    (
      "rejected files hold no place, failed ones do",
      [
        .beginCall, .add("1", limit: 2), .refuse("1"), .moved("1", .rejected),
        .add("2", limit: 2), .failed("2"), .add("3", limit: 2), .add("4", limit: 2), .refuse("4"),
        .endCall,
      ],
      Outcome(states: "1 rejected, 2 failed, 3 queued, 4 queued!", held: 2, completions: 0)
    ),
    (
      "a retry keeps its place and opens the batch again",
      [
        .beginCall, .add("1"), .add("2"), .endCall, .failed("1"), .moved("2", .succeeded),
        .retry("1"), .moved("1", .succeeded),
      ],
      Outcome(states: "1 succeeded, 2 succeeded", held: 2, completions: 2)
    ),
    (
      "the id of a failed file, used again, keeps the place",
      [.beginCall, .add("1"), .add("2"), .failed("1"), .add("1"), .endCall],
      Outcome(states: "1 queued, 2 queued", held: 2, completions: 0)
    ),
    (
      "others are not retried",
      [.beginCall, .add("1"), .endCall, .moved("1", .succeeded), .retry("1"), .retry("none")],
      Outcome(states: "1 succeeded", held: 1, completions: 1)
    ),
    (
      "one that will be tried again is waited for",
      [
        .beginCall, .add("1"), .endCall, .failed("1", isRetryable: true),
        .retry("1", isAsked: false),
        .failed("1", isRetryable: true),
      ],
      Outcome(states: "1 failed", held: 1, completions: 1)
    ),
  ]

  @Test("Events", arguments: table)
  func events(name: String, events: [Event], expected: Outcome) throws {
    var batch = Self.batch(retries: 1)
    var outcome = Outcome(states: "", held: 0, completions: 0)
    var full: Set<String> = []
    for (number, event) in events.enumerated() {
      switch event {
      case .add(let id, let limit):
        let addition = batch.add(id, try Self.id("t\(number)"), .file, limit: limit)
        if case .new(_, hasPlace: false) = addition { full.insert(id) }
      case .refuse(let id): batch.refuse(id)
      case .moved(let id, let state): batch.moved(id, to: state)
      case .failed(let id, let isRetryable): _ = batch.failed(id, isRetryable: isRetryable)
      case .retry(let id, let isAsked): _ = batch.retry(id, isAsked: isAsked)
      case .remove(let id): _ = batch.remove(id)
      case .beginCall: batch.beginCall()
      case .endCall: batch.endCall()
      }
      if batch.becomesComplete() { outcome.completions += 1 }
    }
    outcome.states = batch.all.map { file in
      "\(file.id) \(file.state.rawValue)\(full.contains(file.id) ? "!" : "")"
    }.joined(separator: ", ")
    outcome.held = batch.held
    #expect(outcome == expected, "\(name)")
  }

  @Test("Pages are found behind places, whatever was removed")
  func pages() throws {
    var batch = Self.batch()
    for number in 0..<3000 {
      _ = batch.add("\(number)", try Self.id("t\(number)"), .file, limit: nil)
    }
    for number in 0..<3000 where number % 3 != 0 { _ = batch.remove("\(number)") }
    var found: [String] = []
    var place: Int64 = 0
    while true {
      let page = Array(batch.files(behind: place).prefix(7))
      guard let last = page.last else { break }
      found += page.map(\.id)
      place = last.place
    }
    #expect(found == stride(from: 0, to: 3000, by: 3).map { "\($0)" })
    #expect(batch["3"]?.place == 4)
    #expect(batch.held == 1000)
  }

  @Test("What is sent is not picked again")
  func sending() throws {
    var batch = Self.batch()
    for number in 0..<3 {
      _ = batch.add("\(number)", try Self.id("t\(number)"), .file, limit: nil)
    }
    for number in 0..<2 { batch.moved("\(number)", to: .succeeded) }
    let picked = batch.beginSending(nil)
    #expect(picked.map(\.id) == ["0", "1"])
    #expect(batch.beginSending(nil).isEmpty, "another call has them")
    var isThere = batch.endSending(picked[0], isSent: true)
    #expect(isThere)
    isThere = batch.endSending(picked[1], isSent: false)
    #expect(isThere)
    #expect(batch.beginSending(["0", "2"]).isEmpty)
    let again = batch.beginSending(nil)
    #expect(again.map(\.id) == ["1"])
    _ = batch.remove("1")
    isThere = batch.endSending(again[0], isSent: false)
    #expect(!isThere, "it was removed meanwhile")
  }

  @Test("What is in doubt is picked only where it is named, until it is known")
  func doubt() throws {
    var batch = Self.batch()
    for number in 0..<2 {
      _ = batch.add("\(number)", try Self.id("t\(number)"), .file, limit: nil)
      batch.moved("\(number)", to: .succeeded)
    }
    let picked = batch.beginSending(nil)
    _ = batch.ask([try Self.asked("0", "1")])
    for file in picked { _ = batch.endSending(file, isSent: false) }
    #expect(batch.beginSending(nil).isEmpty)
    #expect(batch["0"]?.isUnsent == false)
    let named = batch.beginSending(["0"])
    #expect(named.map(\.id) == ["0"])
    _ = batch.endSending(named[0], isSent: false)
    _ = batch.ask([try Self.asked("0")])
    #expect(batch.asked.map { $0.files.map(\.id) } == [["1"], ["0"]], "the later has its file")
    batch.settle(try Self.asked("0").files)
    _ = batch.remove("1")
    #expect(batch.asked.isEmpty)
    #expect(batch.beginSending(nil).map(\.id) == ["0"])
  }

  /// A message that shows files of these ids.
  private static func asked(_ ids: String...) throws -> Batch.Asked {
    Batch.Asked(
      message: AskedMessage(
        channel: "c",
        fileIDs: ids.map { "r\($0)" },
        muid: "m",
        parent: Timetoken(7),
        askedMs: 5,
        isKept: false
      ),
      kind: .image,
      files: try ids.map { .init(id: $0, transfer: try id("t\($0)")) }
    )
  }

  @Test("What was asked for survives, and its files are in doubt again")
  func askedSurvives() throws {
    var batch = Self.batch()
    _ = batch.ask([try Self.asked("0", "1"), try Self.asked("2")])
    batch.unfinished = .init(caption: "c", muid: nil, files: ["0"], sent: 2)
    var restored = try #require(Batch(id: "b", decoding: batch.record))
    #expect(restored.asked == batch.asked)
    #expect(restored.unfinished == batch.unfinished)
    let isNew = restored.restore(try Self.restored("1"))
    #expect(isNew)
    #expect(restored["1"]?.isInDoubt == true)
  }

  private static func restored(_ file: String, isAnnounced: Bool = false) throws -> RestoredFile {
    RestoredFile(
      id: try id("t\(file)"),
      file: BatchFile(batch: "b", file: file, place: 1),
      state: .succeeded,
      name: "n",
      contentType: "image/png",
      isAnnounced: isAnnounced
    )
  }

  @Test("After a restart nothing is in doubt of files that are sent or gone")
  func endRestore() throws {
    var batch = Self.batch()
    _ = batch.ask([try Self.asked("0"), try Self.asked("1"), try Self.asked("2", "3")])
    batch.unfinished = .init(caption: "c", muid: "m", files: ["0", "1"], sent: 1)
    _ = batch.restore(try Self.restored("0", isAnnounced: true))
    _ = batch.restore(try Self.restored("1"))
    _ = batch.restore(try Self.restored("2"))
    batch.endRestore()
    #expect(batch.asked.map { $0.files.map(\.id) } == [["1"], ["2"]])
    #expect(batch.all.map(\.isInDoubt) == [false, true, true])
    #expect(batch.unfinished?.sent == 2 && batch.unfinished?.files == ["1"])
    #expect(batch.unfinishedDoubts == 1)
  }

  @Test("A sure refusal leaves the doubts there were before")
  func withdraw() throws {
    var batch = Self.batch()
    for number in 0..<3 {
      _ = batch.add("\(number)", try Self.id("t\(number)"), .file, limit: nil)
      batch.moved("\(number)", to: .succeeded)
    }
    let old = try Self.asked("0", "1")
    _ = batch.ask([old])
    let again = [try Self.asked("0"), try Self.asked("1"), try Self.asked("2")]
    let before = batch.ask(again)
    for message in again { batch.withdraw(message.files, before: before) }
    #expect(batch.asked == [old])
    #expect(batch.all.map(\.isInDoubt) == [true, true, false])
  }

  @Test("What was found holds where nobody asked again meanwhile")
  func claim() throws {
    var batch = Self.batch()
    _ = batch.add("0", try Self.id("t0"), .file, limit: nil)
    batch.moved("0", to: .succeeded)
    let asked = try Self.asked("0")
    _ = batch.ask([asked])
    let claims = [batch.claim(asked, isMade: true), batch.claim(asked, isMade: true)]
    #expect(claims == [true, false])
    #expect(batch.beginSending(["0"]).isEmpty)
    batch.change("0") { $0.isSending = false }
    var later = asked
    later.message.askedMs += 1
    _ = batch.ask([later])
    let isCurrent = batch.claim(asked, isMade: false)
    #expect(!isCurrent)
  }

  @Test("That a message is not there says nothing once it has expired")
  func expired() throws {
    var batch = Self.batch()
    var asked = try Self.asked("0")
    asked.message.expiresMs = 10
    _ = batch.ask([asked])
    let kept = try #require(Batch(id: "b", decoding: batch.record)?.asked.first?.message)
    #expect(kept.judge(.absent, atMs: 9) == .absent)
    #expect(kept.judge(.absent, atMs: 10) == .unknown)
    #expect(kept.judge(.made(Timetoken(1)), atMs: 10) == .made(Timetoken(1)))
  }

  @Test(
    "Settings survive",
    arguments: [
      BatchSettings.Destination.channel("c"), .prefix(ObjectReference(path: "a/b")),
    ]
  )
  func settings(destination: BatchSettings.Destination) {
    var settings = BatchSettings(
      id: "b",
      remote: "r",
      destination: destination,
      pace: .init(concurrency: 2, retries: 1)
    )
    settings.pace.concurrency = 5
    #expect(Batch(id: "b", decoding: Batch(settings).record)?.settings == settings)
    #expect(Batch(id: "b", decoding: Array("{}".utf8)) == nil)
  }
}
