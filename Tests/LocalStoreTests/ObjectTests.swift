import Glibc
import JSON
import LocalStore
import Testing
import TransferModel

@Suite struct ObjectTests {
  private let scratch = Scratch()
  private let store: LocalStore

  init() { store = LocalStore(root: scratch.root) }

  private func ref(_ path: String) -> ObjectReference { ObjectReference(path: path) }

  @Test func `making a store touches nothing, and its folders and files are its owner's only`()
    async throws
  {
    #expect(access(scratch.root, F_OK) != 0)
    try await store.put("a", "x")
    for path in ["", "/content", "/incoming"] { #expect(mode(path) == 0o700) }
    for path in ["/index.db", "/index.db-journal", "/lock", "/bell"] {
      #expect(mode(path) == 0o600)
    }
    for path in try scratch.files(in: "content") { #expect(mode("/content/" + path) == 0o600) }
  }

  private func mode(_ path: String) -> mode_t {
    var info = stat()
    return stat(scratch.root + path, &info) == 0 ? info.st_mode & 0o777 : 0
  }

  @Test func `an object comes back as it was put, from another process's store too`() async throws {
    var settable = SettableMetadata(
      contentType: "image/png",
      custom: ["k": "v", "ключ": "", "": "n"]
    )
    settable.cacheControl = "no-store"
    settable.contentDisposition = "attachment; filename=\"a\0b\""
    settable.contentEncoding = "gzip"
    settable.contentLanguage = "de"
    let staging = try store.stage("bytes")
    try staging.sync()
    let put = try await store.publishObject(
      staging,
      ref: ref("a/../b\u{0}c"),
      settable: settable,
      condition: WriteCondition(),
      size: 5,
      sha256: "aa"
    )
    let other = LocalStore(root: scratch.root)
    let (content, metadata) = try await other.openObject(ref("a/../b\u{0}c"))
    #expect(content.text == "bytes")
    #expect(metadata == put)
    #expect(metadata.settable == settable)
    #expect(content.sha256 == "aa")
    #expect(try await other.objectURL(ref("a/../b\u{0}c")) == store.url(content: put.etag))
  }

  @Test func `overwriting changes ETag and generation, and leaves only the new content`()
    async throws
  {
    let first = try await store.put("a", "one", custom: ["old": "1"])
    let (held, _) = try await store.openObject(ref("a"))
    let second = try await store.put("a", "second")
    #expect(second.etag != first.etag)
    #expect(try #require(second.generation) > #require(first.generation))
    #expect(try await store.metadata(ref("a")).settable.custom == [:])
    #expect(held.text == "one", "a reader keeps what it has open")
    #expect(try scratch.files(in: "content").map { $0.suffix(32) } == [second.etag[...]])
    try await store.deleteObject(ref("a"))
    let third = try await store.put("a", "third")
    #expect(try #require(third.generation) > #require(second.generation), "over a deletion too")
    await store.close()
    #expect(try scratch.index("SELECT content FROM garbage") == [])
    #expect(try scratch.files(in: "incoming") == [])
  }

  static let conditions: [(WriteCondition, exists: Bool, holds: Bool)] = [
    (WriteCondition(ifNoneMatch: "*"), false, true),
    (WriteCondition(ifNoneMatch: "*"), true, false),
    (WriteCondition(ifNoneMatch: "x"), true, true),
    (WriteCondition(ifNoneMatch: "ETAG"), true, false),
    (WriteCondition(ifMatch: "*"), false, false), (WriteCondition(ifMatch: "*"), true, true),
    (WriteCondition(ifMatch: "ETAG"), true, true), (WriteCondition(ifMatch: "ETAG"), false, false),
    (WriteCondition(ifMatch: "x"), true, false),
  ]

  @Test(arguments: conditions)
  func `a conditional put goes ahead only where the condition holds`(
    _ given: WriteCondition,
    exists: Bool,
    holds: Bool
  ) async throws {
    var condition = given
    if exists {
      let etag = try await store.put("a", "old").etag
      if condition.ifMatch == "ETAG" { condition.ifMatch = etag }
      if condition.ifNoneMatch == "ETAG" { condition.ifNoneMatch = etag }
    }
    let error = await failure { try await store.put("a", "new", condition) }
    #expect(error?.code == (holds ? nil : .preconditionFailed))
    #expect(try scratch.files(in: "content").count == (exists || holds ? 1 : 0))
    #expect(try scratch.files(in: "incoming") == [])
  }

  @Test func `of eight racing create-only puts from four stores exactly one wins`() async throws {
    let stores = (0..<4).map { _ in LocalStore(root: scratch.root) }
    for round in 0..<25 {
      let won = try await withThrowingTaskGroup(of: Bool.self) { group in
        for racer in 0..<8 {
          group.addTask {
            do {
              try await stores[racer % 4].put(
                "round \(round)",
                "racer \(racer)",
                WriteCondition(ifNoneMatch: "*")
              )
              return true
            } catch let error as TransferError where error.code == .preconditionFailed {
              return false
            }
          }
        }
        var won = 0
        for try await isWinner in group where isWinner { won += 1 }
        return won
      }
      #expect(won == 1)
    }
    #expect(try scratch.files(in: "content").count == 25)
    #expect(try scratch.files(in: "incoming") == [])
  }

  @Test func `an update changes what it names and keeps content, ETag and generation`() async throws
  {
    let old = try await store.put("a", "x", custom: ["keep": "1", "drop": "2"])
    var patch = MetadataPatch()
    patch.contentType = "text/html"
    patch.cacheControl = "max-age=1"
    patch.custom = ["drop": nil, "new": "3"]
    let new = try await store.update(ref("a"), patch)
    #expect(new.settable.contentType == "text/html")
    #expect(new.settable.custom == ["keep": "1", "new": "3"])
    #expect((new.etag, new.generation, new.createdMs) == (old.etag, old.generation, old.createdMs))
    #expect(try await store.metadata(ref("a")) == new)
    #expect(try await store.openObject(ref("a")).content.text == "x")
  }

  @Test func `what is not there is not found, and the root and endless names are refused`()
    async throws
  {
    for (path, code) in [
      ("no", ErrorCode.notFound), ("", .invalidArgument),
      (String(repeating: "ü", count: 513), .invalidArgument),
    ] {
      let target = ref(path)
      #expect(await failure { _ = try await store.openObject(target) }?.code == code)
      #expect(await failure { _ = try await store.metadata(target) }?.code == code)
      #expect(await failure { _ = try await store.update(target, MetadataPatch()) }?.code == code)
      #expect(await failure { _ = try await store.objectURL(target) }?.code == code)
      #expect(await failure { try await store.deleteObject(target) }?.code == code)
    }
    #expect(await failure { try await store.put("") }?.code == .invalidArgument)
  }

  @Test func `content thrown away, used twice or of another size is not published`() async throws {
    let discarded = try store.stage("x")
    discarded.discard()
    let short = try store.stage("x")
    let twice = try store.stage("x")
    func publish(_ staging: Staging, _ path: String, size: Int64) async throws {
      _ = try await store.publishObject(
        staging,
        ref: ref(path),
        settable: SettableMetadata(contentType: "a/b"),
        condition: WriteCondition(),
        size: size,
        sha256: nil
      )
    }
    #expect(await failure { try await publish(discarded, "a", size: 1) }?.code == .cancelled)
    #expect(await failure { try await publish(short, "b", size: 2) }?.code == .unknown)
    try await publish(twice, "c", size: 1)
    twice.discard()
    #expect(await failure { try await publish(twice, "d", size: 1) }?.code == .unknown)
    #expect(try await store.openObject(ref("c")).content.text == "x")
    short.discard()
    #expect(try scratch.files(in: "incoming") == [])
    #expect(try scratch.files(in: "content").count == 1)
  }

  @Test func `a closed store refuses calls, and closing again returns`() async throws {
    try await store.put("a", "x")
    await store.close()
    await store.close()
    #expect(await failure { _ = try await store.metadata(ref("a")) }?.code == .shuttingDown)
  }
}
