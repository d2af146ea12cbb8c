import JSON
import LocalStore
import Testing
import TransferModel

@Suite struct ChannelTests {
  private let scratch = Scratch()
  private let store: LocalStore

  init() { store = LocalStore(root: scratch.root) }

  private func announce(
    _ channel: String,
    _ file: SharedFile,
    store keeps: Bool = true,
    ttlHours: Int64 = 0,
    message: String? = nil
  ) async throws -> Timetoken {
    try await store.announce(
      Announcement(
        channel: channel,
        fileID: file.id,
        fileName: file.name,
        message: message.map { RawJSON(validated: Array($0.utf8)) },
        store: keeps,
        ttlHours: ttlHours
      )
    )
  }

  private func history(_ channel: String) async throws -> [Timetoken] {
    try await store.history(channel: channel, limit: 1000, start: nil, end: nil).messages
      .map(\.timetoken)
  }

  @Test func `files of one name live side by side and are listed oldest first, page by page`()
    async throws
  {
    var sent: [SharedFile] = []
    for number in 0..<7 { sent.append(try await store.send("c", "same", "\(number)")) }
    _ = try await store.send("other", "same", "x")
    for limit in 1...8 {
      var files: [SharedFile] = []
      var next: String?
      repeat {
        let page = try await store.listFiles(channel: "c", limit: limit, next: next)
        files += page.files
        next = page.next
      } while next != nil
      #expect(files == sent)
    }
    for (number, file) in sent.enumerated() {
      let opened = try await store.openFile(.key(channel: "c", id: file.id, name: "same"))
      #expect(opened.content.text == "\(number)")
      #expect(opened.file == file)
    }
    for next in ["", "1", "f", "f-1", "fx", "r61"] {
      let error = await failure {
        _ = try await store.listFiles(channel: "c", limit: 1, next: next)
      }
      #expect(error?.code == .invalidArgument)
    }
  }

  @Test func `a file needs its channel, id and name; deleting it keeps its announcement`()
    async throws
  {
    let file = try await store.send("c", "name", "x")
    let timetoken = try await announce("c", file)
    for (channel, id, name) in [
      ("d", file.id, "name"), ("c", "no", "name"), ("c", file.id, "Name"),
    ] {
      let errors = [
        await failure { _ = try await store.openFile(.key(channel: channel, id: id, name: name)) },
        await failure { _ = try await store.fileURL(channel: channel, id: id, name: name) },
        await failure { try await store.deleteFile(channel: channel, id: id, name: name) },
        await failure {
          _ = try await store.announce(Announcement(channel: channel, fileID: id, fileName: name))
        },
      ]
      for error in errors { #expect(error?.code == .notFound) }
    }
    let before = try await store.message(channel: "c", timetoken: timetoken)
    #expect(before.file == file)
    #expect(before.fileURL == store.url(content: file.id))
    #expect(try await store.fileURL(channel: "c", id: file.id, name: "name") == before.fileURL)
    let url = try #require(before.fileURL)
    for locator in [FileLocator.url(url), .message(channel: "c", timetoken)] {
      let opened = try await store.openFile(locator)
      #expect(opened.file == file)
      #expect(opened.content.text == "x")
    }
    for other in ["file:///etc/passwd", url + "?", url.uppercased(), file.id, ""] {
      let error = await failure { _ = try await store.openFile(.url(other)) }
      #expect(error?.code == .invalidReference)
    }
    try await store.deleteFile(channel: "c", id: file.id, name: "name")
    for locator in [FileLocator.url(url), .message(channel: "c", timetoken)] {
      #expect(await failure { _ = try await store.openFile(locator) }?.code == .notFound)
    }
    #expect(try await store.listFiles(channel: "c", limit: 9, next: nil).files == [])
    let after = try await store.message(channel: "c", timetoken: timetoken)
    #expect(after.file == SharedFile(id: file.id, name: "name"))
    #expect(after.fileURL == nil)
    #expect(try scratch.files(in: "content") == [])
  }

  @Test func `a message comes back byte for byte`() async throws {
    let file = try await store.send("c", "ü/..\u{0}", "x")
    let announcement = Announcement(
      channel: "c",
      fileID: file.id,
      fileName: file.name,
      message: RawJSON(validated: Array(#"{"n":1.00,"a":"\u0000","n":2}"#.utf8)),
      meta: RawJSON(validated: Array("\"\"".utf8)),
      customMessageType: "type-1",
      publisher: "me"
    )
    let timetoken = try await store.announce(announcement)
    #expect(timetoken.description.utf8.count == 17)
    let expected = ChannelMessage(
      channel: "c",
      timetoken: timetoken,
      publisher: "me",
      customMessageType: "type-1",
      message: announcement.message,
      meta: announcement.meta,
      file: file,
      fileURL: store.url(content: file.id)
    )
    #expect(try await store.message(channel: "c", timetoken: timetoken) == expected)
    #expect(try await store.messages(channels: ["c"], after: Timetoken(0), limit: 9) == [expected])
  }

  @Test func `history pages from the newest back, start exclusive and end inclusive`() async throws
  {
    let file = try await store.send("c", "f", "x")
    var sent: [Timetoken] = []
    for _ in 0..<10 { sent.append(try await announce("c", file)) }
    _ = try await announce("d", try await store.send("d", "f", "x"))
    for limit in 1...11 {
      for end in [nil, sent[0], sent[3]] {
        var found: [Timetoken] = []
        var start: Timetoken?
        repeat {
          let page = try await store.history(channel: "c", limit: limit, start: start, end: end)
          found = page.messages.map(\.timetoken) + found
          start = page.more
          if start != nil { #expect(page.messages.count == limit) }
        } while start != nil
        #expect(found == sent.filter { $0 >= end ?? Timetoken(0) })
      }
    }
    let middle = try await store.history(channel: "c", limit: 2, start: sent[5], end: nil)
    #expect(middle.messages.map(\.timetoken) == [sent[3], sent[4]])
    #expect(middle.more == sent[3])
  }

  @Test func `what history does not keep still reaches subscribers`() async throws {
    let file = try await store.send("c", "f", "x")
    let kept = try await announce("c", file)
    let live = try await announce("c", file, store: false)
    #expect(try await history("c") == [kept])
    let heard = try await store.messages(channels: ["c", "c"], after: Timetoken(0), limit: 9)
    #expect(heard.map(\.timetoken) == [kept, live], "a channel named twice gives nothing twice")
    for call in [store.deleteMessage, { _ = try await store.message(channel: $0, timetoken: $1) }] {
      #expect(await failure { try await call("c", live) }?.code == .notFound)
      #expect(await failure { try await call("d", kept) }?.code == .notFound)
    }
    try await store.deleteMessage(channel: "c", timetoken: kept)
    #expect(try await history("c") == [])
  }

  @Test func `an expired message is invisible and then gone`() async throws {
    let file = try await store.send("c", "f", "x")
    let forever = try await announce("c", file)
    let hour = try await announce("c", file, ttlHours: 1)
    let endless = try await announce("c", file, ttlHours: .max)
    #expect(try await history("c") == [forever, hour, endless])
    let left = try scratch.index(
      "SELECT expires - timetoken / 10000 FROM message WHERE timetoken = \(hour)"
    )
    #expect(try #require(left.first.flatMap { Int64($0) }) - 3_600_000 <= 1)
    _ = try scratch.index("UPDATE message SET expires = 1 WHERE timetoken = \(hour)")
    #expect(try await history("c") == [forever, endless])
    #expect(await failure { _ = try await store.message(channel: "c", timetoken: hour) } != nil)
    // A store that has purged in this minute does not again: another one does.
    let other = LocalStore(root: scratch.root)
    _ = try await other.announce(Announcement(channel: "c", fileID: file.id, fileName: "f"))
    #expect(try scratch.index("SELECT count(*) FROM message") == ["3"])
  }

  @Test func `timetokens rise though the wall clock steps back`() async throws {
    let file = try await store.send("c", "f", "x")
    let first = try await announce("c", file)
    let future = first.value + 10_000_000_000
    _ = try scratch.index("UPDATE clock SET timetoken = \(future)")
    #expect(try await store.latestTimetoken() == Timetoken(future))
    #expect(try await announce("c", file) == Timetoken(future + 1))
    #expect(try await announce("c", file) == Timetoken(future + 2))
  }

  @Test func `long messages end a page early and none is left out`() async throws {
    let files = [try await store.send("c", "f", "x"), try await store.send("d", "f", "x")]
    let body = "\"\(String(repeating: "x", count: 6 << 20))\""
    var sent: [Timetoken] = []
    for number in 0..<6 {
      let channel = number % 2
      sent.append(try await announce(["c", "d"][channel], files[channel], message: body))
    }
    var heard: [Timetoken] = []
    while true {
      let page = try await store.messages(
        channels: ["c", "d"],
        after: heard.last ?? Timetoken(0),
        limit: 100
      )
      if page.isEmpty { break }
      #expect(page.count == 2)
      heard += page.map(\.timetoken)
    }
    #expect(heard == sent)
    let page = try await store.history(channel: "c", limit: 100, start: nil, end: nil)
    #expect(page.messages.map(\.timetoken) == [sent[2], sent[4]])
    #expect(page.more == sent[2])
  }
}
