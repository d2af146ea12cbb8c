import Foundation
import Synchronization
import Testing
import TransferModel

@testable import Journal

@Suite struct QueueTests {
  private static let a = TransferID.named("a")

  /// What becomes of an earlier change and a later one.
  private static let pairs: [(JournalChange, JournalChange, JournalChange)] = {
    var added = row("a")
    added.loaded = 2
    var both = JournalUpdate.settled(.failed, snapshot: [1])
    both.loaded = 2
    return [
      (.add(row("a")), .update(a, loaded(2)), .add(added)),
      (.update(a, loaded(1)), .update(a, loaded(2)), .update(a, loaded(2))),
      (.update(a, loaded(2)), .update(a, .settled(.failed, snapshot: [1])), .update(a, both)),
      (.add(row("a")), .forget(a), .forget(a)),
      (.update(a, loaded(1)), .forget(a), .forget(a)),
      (.forget(a), .update(a, loaded(1)), .forget(a)),
      (.forget(a), .add(row("a")), .add(row("a"))),
      (.add(added), .add(row("a")), .add(row("a"))),
    ]
  }()

  @Test(arguments: pairs)
  func `two changes to one transfer become one`(
    earlier: JournalChange,
    later: JournalChange,
    both: JournalChange
  ) {
    let queue = JournalQueue()
    queue.add([earlier, .forget(.named("b")), later])
    queue.close()
    #expect(queue.next()?.changes == [both, .forget(.named("b"))])
    #expect(queue.next() == nil)
  }

  @Test func `what is awaited is taken at once, with what came before it`() {
    let queue = JournalQueue()
    queue.add([.add(row("a"))])
    queue.add([.forget(.named("b"))]) { _ in }
    let batch = queue.next()
    #expect(batch?.changes.count == 2)
    #expect(batch?.waiters.count == 1)
  }

  @Test func `a closed queue refuses and still answers, from elsewhere`() async {
    let queue = JournalQueue()
    queue.close()
    // The caller may hold a lock that the answer needs.
    let lock = Mutex(())
    let isKept = await withCheckedContinuation { continuation in
      lock.withLock { _ in
        queue.add([.add(row("a"))]) { kept in
          lock.withLock { _ in continuation.resume(returning: kept) }
        }
      }
    }
    #expect(isKept == false)
    let hasFiles = await withCheckedContinuation { continuation in
      lock.withLock { _ in
        queue.ask { files in
          let hasFiles = files != nil
          lock.withLock { _ in continuation.resume(returning: hasFiles) }
        }
      }
    }
    #expect(hasFiles == false)
    #expect(queue.next() == nil)
  }

  @Test func `changes that nobody awaits are committed in groups, in their order`() throws {
    let queue = JournalQueue()
    let producer = Thread {
      for number in 0..<10_000 {
        queue.add([.add(row("\(number)", Int64(number)))])
        queue.add([.update(.named("\(number)"), loaded(Int64(number)))])
        queue.add([.update(.named("0"), loaded(Int64(number)))])
      }
      queue.close()
    }
    producer.start()
    let state = try State()
    let files = JournalFiles(folder: state.folder()) { Issue.record("\($0)") }
    var commits = 0
    while let batch = queue.next() {
      #expect(files.write(batch.changes))
      commits += 1
    }
    #expect(commits < 200)
    var cursor = JournalCursor.start
    var count: Int64 = 0
    while true {
      let page = files.page(after: cursor, limit: 500, state: nil)
      for row in page.rows {
        #expect(row.number == count && row.loaded == (count == 0 ? 9999 : count))
        count += 1
      }
      guard let next = page.next else { break }
      cursor = next
    }
    #expect(count == 10_000)
  }

  @Test func `many tasks that each await their row are all told`() async throws {
    let state = try State()
    let journal = state.journal()
    let kept = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<2000 {
        group.addTask {
          await journal.write([.add(row("\(number)", Int64(number)))])
        }
      }
      var kept = 0
      for await isKept in group where isKept { kept += 1 }
      return kept
    }
    #expect(kept == 2000)
    #expect(await journal.page(limit: 3000).rows.count == 2000)
    await journal.close()
    #expect(await journal.write([.add(row("late"))]) == false)
    #expect(await journal.row(.named("0")) == nil)
  }

  @Test func `a journal that is dropped writes what it was given`() async throws {
    let state = try State()
    let (ends, end) = AsyncStream<Never>.makeStream()
    do {
      // The journal's thread holds on to it until it ends.
      let sign = EndSign(end)
      let journal = Journal(stateDirectory: state.path, scope: "s") { _ in _ = sign }
      journal.write(.add(row("a")))
    }
    for await _ in ends {}
    let next = state.journal()
    #expect(await next.row(.named("a"))?.state == .interrupted)
    await next.close()
  }
}

/// Ends a stream when nothing holds it any more.
private final class EndSign: Sendable {
  private let end: AsyncStream<Never>.Continuation

  init(_ end: AsyncStream<Never>.Continuation) { self.end = end }

  deinit { end.finish() }
}
