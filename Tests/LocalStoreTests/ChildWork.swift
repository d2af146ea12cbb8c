import Foundation
import LocalStore
import Testing
import TransferModel

/// What this bundle does when another test has started it as a second process.
@Suite struct StoreChildWork {
  static let name = "worksAsAnotherProcess"
  private static let order = ProcessInfo.processInfo.environment["FERRY_STORE_CHILD"]

  @Test(.enabled(if: order != nil, "runs only when another test starts it"))
  func worksAsAnotherProcess() async throws {
    let words = try #require(Self.order).split(separator: " ", maxSplits: 1)
    let store = LocalStore(root: String(words[1]))
    switch words[0] {
    case "announce": try await announce(store)
    case "hear": try await hear(store)
    default: try await churn(store)
    }
  }

  private func announce(_ store: LocalStore) async throws {
    let file = try await store.send("c", "f", "x")
    for _ in 0..<100 {
      _ = try await store.announce(Announcement(channel: "c", fileID: file.id, fileName: "f"))
    }
  }

  /// Says that it listens, and measures how old 100 messages are when they are heard.
  private func hear(_ store: LocalStore) async throws {
    let bell = try await store.bell()
    var position = try await store.latestTimetoken()
    let file = try await store.send("ready", "f")
    _ = try await store.announce(Announcement(channel: "ready", fileID: file.id, fileName: "f"))
    var delays: [Double] = []
    for await _ in bell {
      for message in try await store.messages(channels: ["c"], after: position, limit: 100) {
        delays.append(Date().timeIntervalSince1970 - Double(message.timetoken.value) / 1e7)
        position = message.timetoken
      }
      if delays.count == 100 { break }
    }
    delays.sort()
    print("heard after \(delays[50] * 1000) ms (median), \(delays[95] * 1000) ms (95 %)")
  }

  /// Puts, overwrites, deletes, sends and announces until it is killed, or left alone.
  private func churn(_ store: LocalStore) async throws {
    let parent = getppid()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<6 {
        group.addTask {
          for number in 0... {
            guard getppid() == parent else { return }
            let path = "\(worker % 2)/\(number % 5)"
            try await store.put(path, String(repeating: path, count: number % 50))
            if number % 7 == 6 {
              _ = await failure { try await store.deleteObject(ObjectReference(path: path)) }
            }
            let file = try await store.send("c", "f \(number)", "file \(number)")
            _ = try await store.announce(
              Announcement(channel: "c", fileID: file.id, fileName: file.name)
            )
            if number % 3 == 2 {
              try await store.deleteFile(channel: "c", id: file.id, name: file.name)
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
