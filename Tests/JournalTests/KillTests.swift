import Foundation
import Glibc
import Testing
import TransferModel

@testable import Journal

/// What this bundle does when another test has started it as a second process.
@Suite struct JournalChildWork {
  static let state = ProcessInfo.processInfo.environment["FERRY_JOURNAL_CHILD"]

  /// Adds, updates, settles and forgets rows until it is killed; says what it was told is kept.
  @Test(.enabled(if: state != nil, "runs only when another test starts it"))
  func `writes until it is killed`() async throws {
    let path = try #require(Self.state)
    let journal = Journal(stateDirectory: path, scope: "s") {
      Self.say("trouble \($0.code.rawValue)")
    }
    let base = await journal.lastNumber() + 1
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          for number in stride(from: base + Int64(worker), to: .max, by: 4) {
            await work(on: number, in: journal)
          }
        }
      }
    }
  }

  private func work(on number: Int64, in journal: Journal) async {
    let id = TransferID.named("\(number)")
    await journal.write([.add(row("\(number)", number))])
    Self.say("added \(number)")
    for bytes in 0..<5 { journal.write(.update(id, loaded(Int64(bytes)))) }
    let end = JournalUpdate.settled(.succeeded, snapshot: [UInt8](repeating: 1, count: 400))
    await journal.write([.update(id, end)])
    Self.say("settled \(number)")
    guard number % 3 == 0 else { return }
    Self.say("forgets \(number)")
    await journal.write([.forget(id)])
    Self.say("forgot \(number)")
  }

  private static func say(_ text: String) {
    let line = Array("journal \(text)\n".utf8)
    precondition(write(STDOUT_FILENO, line, line.count) == line.count)
  }
}

@Suite struct KillTests {
  @Test func `what was said to be kept is there after a kill at any moment`() async throws {
    let state = try State()
    /// What was said last of each number.
    var said: [String: String] = [:]
    for round in 0..<12 {
      let child = try Child(
        running: "JournalChildWork",
        environment: ["FERRY_JOURNAL_CHILD": state.path]
      )
      var heard = 0
      for await line in child.lines {
        let words = line.split(separator: " ")
        guard words.count == 3, words[0] == "journal" else { continue }
        said[String(words[2])] = String(words[1])
        heard += 1
        if heard == 1 + round * round * 20 { child.kill() }
      }
      #expect(heard > 0)
      try await check(said, in: state)
    }
    #expect(said.values.contains("trouble") == false)
    #expect(state.told == [])
  }

  private func check(_ said: [String: String], in state: State) async throws {
    let journal = state.journal()
    var cursor: JournalCursor? = .start
    var found: [String: TransferState] = [:]
    while let place = cursor {
      let page = await journal.page(after: place, limit: 500)
      for row in page.rows { found[row.id.description] = row.state }
      cursor = page.next
    }
    for (number, word) in said {
      let state = found.removeValue(forKey: number)
      let isRight =
        switch word {
        case "added": state == .interrupted || state == .succeeded
        case "settled": state == .succeeded
        case "forgets": state == .succeeded || state == nil
        default: state == nil
        }
      #expect(isRight, "\(number) \(word), and is \(state?.rawValue ?? "not there")")
    }
    // Written, and killed before that was said.
    for (number, state) in found { #expect(state == .interrupted, "\(number)") }
    await journal.close()
    #expect(state.names().map { $0.split(separator: ".").last } == ["db", "lock"])
  }
}
