import Foundation
import Glibc
import LocalStore
import Testing
import TransferModel

/// What a start finds after kills, and what it leaves alone.
@Suite struct StartTests {
  private let scratch = Scratch()

  private func link(_ from: String, _ to: String) throws {
    let (from, to) = ("\(scratch.root)/\(from)", "\(scratch.root)/\(to)")
    try FileManager.default.createDirectory(
      atPath: (to as NSString).deletingLastPathComponent,
      withIntermediateDirectories: true
    )
    #expect(Glibc.link(from, to) == 0)
  }

  /// A store with one object, closed.
  private func begun() async throws -> ObjectMetadata {
    let store = LocalStore(root: scratch.root)
    let object = try await store.put("kept", "kept")
    await store.close()
    return object
  }

  @Test func `parts and unnamed content of the dead go; the living and the named stay`()
    async throws
  {
    let kept = try await begun()
    let shard = kept.etag.prefix(2)
    let dead = shard + String(repeating: "0", count: 30)
    let early = shard + String(repeating: "1", count: 30)
    // Killed between the commit and the unlinking of the part.
    try link("content/\(shard)/\(kept.etag)", "incoming/\(kept.etag).part")
    // Killed between the link and the commit, and before the link.
    for path in ["incoming/\(dead).part", "incoming/\(early).part", "incoming/notes.part"] {
      #expect(FileManager.default.createFile(atPath: "\(scratch.root)/\(path)", contents: Data()))
    }
    try link("incoming/\(dead).part", "content/\(shard)/\(dead)")
    // Killed between the commit of a deletion and the unlinking of the content.
    let garbage = "00" + String(repeating: "2", count: 30)
    try link("incoming/\(early).part", "content/00/\(garbage)")
    _ = try scratch.index("INSERT INTO garbage VALUES ('\(garbage)')")
    let living = LocalStore(root: scratch.root)
    let staging = try living.stage("living")

    let store = LocalStore(root: scratch.root)
    #expect(try await store.openObject(ObjectReference(path: "kept")).content.text == "kept")
    #expect(try scratch.files(in: "content") == ["\(shard)/\(kept.etag)"])
    #expect(try scratch.files(in: "incoming") == ["\(staging.id).part", "notes.part"].sorted())
    #expect(try scratch.index("SELECT content FROM garbage") == [])
    _ = try await living.publishFile(
      staging,
      channel: "c",
      name: "f",
      contentType: nil,
      size: 6,
      sha256: nil
    )
  }

  @Test func `a process killed at any moment leaves a whole store, and others go on meanwhile`()
    async throws
  {
    let watching = LocalStore(root: scratch.root)
    var position = try await watching.latestTimetoken()
    for round in 0..<8 {
      let children = try (0..<2).map { _ in
        try Child(
          running: StoreChildWork.name,
          environment: ["FERRY_STORE_CHILD": "churn \(scratch.root)"]
        )
      }
      var heard = 0
      // A bell each time, so that the kill falls at another point of the work.
      for await _ in try await watching.bell() {
        let page = try await watching.messages(channels: ["c"], after: position, limit: 1000)
        #expect(page.map(\.timetoken) == page.map(\.timetoken).sorted())
        position = page.last?.timetoken ?? position
        heard += page.count
        if heard > 20 + round * 5 { break }
      }
      for child in children { await child.kill() }
      try await watching.put("after \(round)", "x")

      let store = LocalStore(root: scratch.root)
      var named: [String] = []
      let page = try await store.listObjects(
        below: ObjectReference(path: ""),
        recursive: true,
        limit: 1000,
        next: nil
      )
      for item in page.items {
        let (content, metadata) = try await store.openObject(ObjectReference(path: item.fullPath))
        let text = content.text
        #expect(Int64(text.utf8.count) == metadata.size)
        #expect(text.replacingOccurrences(of: item.fullPath, with: "") == "" || text == "x")
        named.append(metadata.etag)
      }
      var next: String?
      repeat {
        let page = try await store.listFiles(channel: "c", limit: 1000, next: next)
        named += page.files.map(\.id)
        next = page.next
      } while next != nil
      await store.close()
      #expect(
        try scratch.files(in: "content").map { String($0.suffix(32)) }.sorted() == named.sorted()
      )
      #expect(try scratch.files(in: "incoming") == [])
      #expect(try scratch.index("PRAGMA integrity_check") == ["ok"])
    }
  }

  @Test func `a newer index, a foreign one and damaged ones are left alone, with clear errors`()
    async throws
  {
    _ = try await begun()
    let path = scratch.root + "/index.db"
    func error() async -> TransferError? {
      await failure { _ = try await LocalStore(root: scratch.root).latestTimetoken() }
    }
    _ = try scratch.index("PRAGMA user_version = 99")
    let newer = await error()
    #expect(newer?.code == .unsupported)
    #expect(newer?.message.contains("version 99") == true)
    #expect(try scratch.index("PRAGMA user_version") == ["99"])
    _ = try scratch.index("PRAGMA user_version = 0")
    #expect(await error()?.code == .unsupported)
    _ = try scratch.index("PRAGMA user_version = 1")
    #expect(await error() == nil)

    let good = try #require(FileManager.default.contents(atPath: path))
    let broken: [(Data, String)] = [
      (Data("this is no database, however long it may be".utf8), "no database"),
      (good.prefix(100) + Data(repeating: 0xAA, count: good.count - 100), "overwritten"),
    ]
    for (bytes, name) in broken {
      try bytes.write(to: URL(fileURLWithPath: path))
      let damaged = await error()
      #expect(damaged?.code == .unknown, "\(name)")
      #expect(damaged?.message.contains(path) == true, "\(name)")
      #expect(damaged?.message.contains("damaged") == true, "\(name)")
      #expect(FileManager.default.contents(atPath: path) == bytes, "\(name)")
    }
    try good.write(to: URL(fileURLWithPath: path))
    #expect(await error() == nil)
  }

  @Test func `a store of version 1 works as it is, and no digest of it outlives its content`()
    async throws
  {
    _ = try await begun()
    for sql in [
      "ALTER TABLE object ADD COLUMN md5 TEXT", "ALTER TABLE file ADD COLUMN md5 TEXT",
      "UPDATE object SET md5 = 'aa'", "PRAGMA user_version = 1",
    ] {
      _ = try scratch.index(sql)
    }
    let store = LocalStore(root: scratch.root)
    #expect(try await store.openObject(ObjectReference(path: "kept")).content.text == "kept")
    try await store.put("kept", "new")
    let sent = try await store.send("c", "f", "sent")
    #expect(try await store.listFiles(channel: "c", limit: 9, next: nil).files == [sent])
    #expect(try await store.openObject(ObjectReference(path: "kept")).content.text == "new")
    #expect(try scratch.index("SELECT count(*) FROM object WHERE md5 IS NULL") == ["1"])
    #expect(try scratch.index("PRAGMA user_version") == ["1"])
  }

  @Test func `a root that cannot be is an error, and works once the cause is gone`() async throws {
    let relative = await failure { _ = try LocalStore(root: "ferry").stage(expectedSize: nil) }
    #expect(relative?.code == .config)
    #expect(FileManager.default.createFile(atPath: scratch.root, contents: Data()))
    let store = LocalStore(root: scratch.root + "/below/a file")
    #expect(await failure { _ = try store.stage(expectedSize: nil) }?.code == .fileNotFound)
    #expect(await failure { _ = try await store.latestTimetoken() }?.code == .fileNotFound)
    try FileManager.default.removeItem(atPath: scratch.root)
    try await store.put("a", "x")
    #expect(try await store.openObject(ObjectReference(path: "a")).content.text == "x")
  }

  @Test func `a store removed under a living process begins anew`() async throws {
    let store = LocalStore(root: scratch.root)
    try await store.put("a", "x")
    try FileManager.default.removeItem(atPath: scratch.root)
    try await store.put("b", "y")
    let page = try await LocalStore(root: scratch.root).listObjects(
      below: ObjectReference(path: ""),
      recursive: true,
      limit: 9,
      next: nil
    )
    #expect(page.items.map(\.fullPath) == ["b"])
  }

  @Test func `content somebody removed by hand is reported, not served`() async throws {
    let kept = try await begun()
    unlink("\(scratch.root)/content/\(kept.etag.prefix(2))/\(kept.etag)")
    let store = LocalStore(root: scratch.root)
    let error = await failure { _ = try await store.openObject(ObjectReference(path: "kept")) }
    #expect(error?.code == .notFound)
    #expect(error?.message.contains("by hand") == true)
    try await store.deleteObject(ObjectReference(path: "kept"))
  }

  @Test func `the URL of content is its path, percent-encoded`() {
    let store = LocalStore(root: "/a b/ü%")
    #expect(store.url(content: "0fab") == "file:///a%20b/%C3%BC%25/content/0f/0fab")
  }
}
