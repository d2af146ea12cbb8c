import Foundation
import LocalStore
import Testing
import TransferModel

/// What this bundle does when another test has started it as a second process.
@Suite struct ChildWork {
  static let name = "worksAsAnotherProcess"
  private static let order = ProcessInfo.processInfo.environment["FERRY_STORE_CHILD"]

  @Test(.enabled(if: order != nil, "runs only when another test starts it"))
  func worksAsAnotherProcess() async throws {
    let words = try #require(Self.order).split(separator: " ", maxSplits: 1)
    let store = LocalStore(root: String(words[1]))
    if words[0] == "announce" {
      try await announce(store)
    } else {
      try await churn(store)
    }
  }

  private func announce(_ store: LocalStore) async throws {
    let file = try await store.send("c", "f", "x")
    for _ in 0..<100 {
      _ = try await store.announce(Announcement(channel: "c", fileID: file.id, fileName: "f"))
    }
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
