import Foundation
import Glibc
import JSON
import LocalStore
import Testing
import TransferModel

/// Real full disks, on a tmpfs of 4 MiB that only root may mount.
@Suite struct FullDiskTests {
  @Test(.enabled(if: geteuid() == 0, "mounting a small file system needs root"))
  func `a full disk is an error of its own, and what was stored stays`() async throws {
    let scratch = Scratch()
    try FileManager.default.createDirectory(
      atPath: scratch.root,
      withIntermediateDirectories: true
    )
    try #require(mount("none", scratch.root, "tmpfs", 0, "size=4m") == 0)
    defer { umount2(scratch.root, Int32(MNT_DETACH)) }
    let store = LocalStore(root: scratch.root)
    try await store.put("kept", "kept")
    let reserved = await failure { _ = try store.stage(expectedSize: 1 << 30) }
    #expect(reserved?.code == .diskFull)
    #expect(try scratch.files(in: "incoming") == [])

    var error: TransferError?
    let custom: [ExactString: String] = ["k": String(repeating: "v", count: 20_000)]
    for number in 0..<1000 where error == nil {
      error = await failure { try await store.put("\(number)", "", custom: custom) }
    }
    #expect(error?.code == .diskFull)
    #expect(try await store.openObject(ObjectReference(path: "kept")).content.text == "kept")
    let page = try await store.listObjects(
      below: ObjectReference(path: ""),
      recursive: true,
      limit: 1000,
      next: nil
    )
    // Deleting makes room, beside writes that share its transaction and find none.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for item in page.items where item.fullPath != "kept" {
        group.addTask { _ = await failure { try await store.put("beside", "", custom: custom) } }
        group.addTask { try await store.deleteObject(ObjectReference(path: item.fullPath)) }
      }
      try await group.waitForAll()
    }
    try await store.put("again", "x", custom: custom)
    let left = try await store.listObjects(
      below: ObjectReference(path: ""),
      recursive: true,
      limit: 9,
      next: nil
    )
    await store.close()
    #expect(try scratch.files(in: "content").count == left.items.count)
    #expect(Set(left.items.map(\.fullPath)).subtracting(["beside"]) == ["again", "kept"])
    #expect(try scratch.files(in: "incoming") == [])
  }
}
