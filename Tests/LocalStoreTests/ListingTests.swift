import LocalStore
import Testing
import TransferModel

@Suite struct ListingTests {
  private let scratch = Scratch()
  private let store: LocalStore

  init() { store = LocalStore(root: scratch.root) }

  /// What a listing must give, computed the plain way: kind and path in byte order.
  private func expected(
    _ paths: [String],
    below prefix: String,
    recursive: Bool
  ) -> [String] {
    let base = Array(prefix.isEmpty ? "".utf8 : (prefix + "/").utf8)
    var lines: [[UInt8]] = []
    for path in paths where path.utf8.starts(with: base) {
      let rest = path.utf8.dropFirst(base.count)
      if !recursive, let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
        let folder = base + rest[..<slash] + Array("/".utf8)
        if lines.last != folder { lines.append(folder) }
      } else {
        lines.append(Array(path.utf8))
      }
    }
    lines.sort { $0.lexicographicallyPrecedes($1) }
    var unique: [[UInt8]] = []
    for line in lines where unique.last != line { unique.append(line) }
    return unique.map { String(decoding: $0, as: UTF8.self) }
  }

  /// All pages, folders with a slash at their end, in the byte order the pages promise.
  private func all(
    below prefix: String,
    recursive: Bool,
    limit: Int
  ) async throws -> (lines: [String], pages: Int) {
    var lines: [String] = []
    var pages = 0
    var next: String?
    repeat {
      let page = try await store.listObjects(
        below: ObjectReference(path: prefix),
        recursive: recursive,
        limit: limit,
        next: next
      )
      let shown = page.items.map(\.fullPath) + page.prefixes.map { $0 + "/" }
      #expect(shown.count <= limit)
      lines += shown.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      next = page.next
      pages += 1
      if next != nil { #expect(shown.count == limit) }
    } while next != nil
    return (lines, pages)
  }

  private static let nasty = [
    "a", "a ", "a!", "a-b", "a.b", "a/b", "a/b/c", "a/b/d", "a//b2", "a0", "a0/x", "aa/1",
    "b/\u{301}x",
    "é", "e\u{301}", "é/1", "e\u{301}/1", "..", "../x", ".", "./y", "\u{1}", "\u{1}/z", "new\nline",
    "cr\r\n/x", "%2F", "%/x", "'; DROP TABLE object", "\"q\"", "nul\u{0}", "nul\u{0}/x",
    "nul\u{0}\u{0}",
    "🇩🇪/🇦🇹", "🇩🇪", "\u{10FFFF}", "\u{10FFFF}/q", "\u{600}/x", "日本/語", "日本", "z", "*", "?", "~",
  ]

  @Test(arguments: [true, false])
  func `every limit pages through the same names in byte order`(recursive: Bool) async throws {
    for path in Self.nasty { try await store.put(path, path) }
    let paths = Self.nasty.map { ObjectReference(path: $0).fullPath }
    for prefix in ["", "a", "a/b", "é", "e\u{301}", "nul\u{0}", "\u{600}", "cr\r\n", "none", "z"] {
      let wanted = expected(paths, below: prefix, recursive: recursive)
      for limit in 1...(paths.count + 1) {
        let got = try await all(below: prefix, recursive: recursive, limit: limit)
        #expect(got.lines.map { Array($0.utf8) } == wanted.map { Array($0.utf8) })
        #expect(got.pages == max(1, (wanted.count + limit - 1) / limit))
      }
    }
  }

  @Test func `ten thousand names, in folders of very different sizes`() async throws {
    let paths = (0..<10_000).map { number in
      number % 2 == 0 ? "big/\(number)" : "folder \(number % 50)/\(number % 7)/\(number)"
    }
    // Written behind the store's back: how objects get there is not what is tested here.
    _ = try await store.latestTimetoken()
    let rows = paths.enumerated().map { number, path in
      "('\(path)', '\(number)', 1, 't', NULL, NULL, NULL, NULL, 1, 1, NULL, 1)"
    }
    _ = try scratch.index("INSERT INTO object VALUES \(rows.joined(separator: ","))")
    for (prefix, recursive) in [("", true), ("", false), ("big", false), ("folder 7", false)] {
      let wanted = expected(paths, below: prefix, recursive: recursive)
      for limit in [7, 100, 999, 1000] {
        #expect(try await all(below: prefix, recursive: recursive, limit: limit).lines == wanted)
      }
    }
  }

  @Test func `folders are skipped, not read: a page of them costs what it shows`() async throws {
    // 200,000 rows in one folder, written behind the store's back, and one in the other.
    try await store.put("few/deep/1", "x")
    _ = try scratch.index(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
      INSERT INTO object
      SELECT 'many/deep/' || i, i, 1, 't', NULL, NULL, NULL, NULL, 1, 1, NULL, 1 FROM n
      """
    )
    // Reading all rows would cost some 200 times as much as skipping them; the two are timed side
    // by side, so that a busy machine slows both.
    let few = try await time(below: "few")
    let many = try await time(below: "many")
    #expect(many < few * 20, "\(many) against \(few)")
  }

  /// How long 50 pages of folders below a reference take.
  private func time(below path: String) async throws -> Duration {
    try await ContinuousClock().measure {
      for _ in 0..<50 {
        let page = try await store.listObjects(
          below: ObjectReference(path: path),
          recursive: false,
          limit: 10,
          next: nil
        )
        #expect(page.prefixes == ["\(path)/deep"])
      }
    }
  }

  static let wrong = ["", "x", "r", "d6", "dzz", "d6g", "r61", "d61ff", "d62", "f1", "D61"]

  @Test(arguments: wrong)
  func `a next that no page gave is refused`(_ next: String) async throws {
    try await store.put("a/b", "x")
    let objects = await failure {
      _ = try await store.listObjects(
        below: ObjectReference(path: "a"),
        recursive: false,
        limit: 1,
        next: next
      )
    }
    #expect(objects?.code == .invalidArgument)
    #expect(objects?.field == "/next")
  }

  @Test(arguments: [0, -1, .min])
  func `a limit below one is refused`(_ limit: Int) async throws {
    let errors = [
      await failure {
        _ = try await store.listObjects(
          below: ObjectReference(path: ""),
          recursive: true,
          limit: limit,
          next: nil
        )
      },
      await failure { _ = try await store.listFiles(channel: "c", limit: limit, next: nil) },
      await failure {
        _ = try await store.history(channel: "c", limit: limit, start: nil, end: nil)
      },
      await failure {
        _ = try await store.messages(channels: ["c"], after: Timetoken(0), limit: limit)
      },
    ]
    for error in errors {
      #expect(error?.code == .invalidArgument)
      #expect(error?.field == "/limit")
    }
  }
}
