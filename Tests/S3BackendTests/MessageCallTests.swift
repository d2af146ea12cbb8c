import Backends
import Configuration
import JSON
import Testing
import TransferModel

@testable import S3Backend

/// A page of a channel's messages, newest first.
func page(_ names: [String], channel: String = "c", next: String? = nil) -> HTTPResponse {
  let contents = names.map { name in
    "<Contents><Key>channels/\(channel)/messages/\(name)</Key><Size>9</Size></Contents>"
  }
  let rest = next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? ""
  return answer(
    200,
    ["Date": "Sun, 30 Aug 2015 12:36:00 GMT"],
    "<ListBucketResult>\(contents.joined())<IsTruncated>\(next != nil)</IsTruncated>\(rest)"
      + "</ListBucketResult>"
  )
}

/// A message as it is stored.
func stored(_ text: String) -> HTTPResponse {
  answer(200, [:], "{\"message\":\"\(text)\",\"file\":{\"id\":\"i\",\"name\":\"n\"}}")
}

/// So many milliseconds after `now`.
func moment(_ milliseconds: Int64) -> Timetoken { Timetoken((now + milliseconds) * 10_000) }

/// The name of a message of a moment.
func name(_ milliseconds: Int64, _ id: String = "a", _ tail: String = "") -> String {
  MessageKey(moment(milliseconds), id: id).name + tail
}

/// A remote that an answer has come from `now`.
func timelyRemote() -> S3Remote {
  let remote = makeRemote()
  _ = remote.judge(page([]), to: remote.probe, nowMs: now)
  return remote
}

extension [ChannelMessage] {
  /// What they say.
  var texts: [String] { map { $0.message.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "" } }
}

@Suite("Messages")
struct MessageCallTests {
  static let query = "encoding-type=url&list-type=2&max-keys="
  static let folder = "prefix=channels%2Fc%2Fmessages%2F"

  @Test("History lists names, then reads the newest of them, oldest first")
  func history() throws {
    let call = try timelyRemote().history(
      channel: "c",
      limit: 2,
      start: nil,
      end: nil,
      cipherKey: nil
    )
    let names = [name(3), name(2, "a", "-live"), name(2, "a", "-x1"), name(2), name(1)]
    let (result, requests) = try run(call, [page(names), stored("2"), stored("3")])
    #expect(result.messages.texts == ["\"2\"", "\"3\""])
    #expect(result.more == moment(2))
    #expect(
      requests.map(\.line) == [
        "GET /b?\(Self.query)3&\(Self.folder)",
        "GET /b/channels/c/messages/\(name(2))", "GET /b/channels/c/messages/\(name(3))",
      ]
    )
    #expect(result.messages[0].fileURL?.contains("/b/channels/c/files/i/n?") == true)
  }

  @Test("Its bounds: start is left out, end is not; a page goes on where a list ends")
  func bounds() throws {
    let call = try timelyRemote().history(
      channel: "c",
      limit: 9,
      start: moment(3),
      end: moment(1),
      cipherKey: nil
    )
    let (result, requests) = try run(
      call,
      [
        page([name(3), name(2)], next: "t"), page([name(1), name(0)]), stored("1"), stored("2"),
      ]
    )
    #expect(result.messages.texts == ["\"1\"", "\"2\""])
    #expect(result.more == nil)
    let mark = MessageKey.mark(behind: moment(3))
    let start = "start-after=channels%2Fc%2Fmessages%2F\(mark)"
    #expect(requests[0].line == "GET /b?\(Self.query)10&\(Self.folder)&\(start)")
    #expect(requests[1].line == "GET /b?continuation-token=t&\(Self.query)18&\(Self.folder)")
  }

  @Test("Messages of one moment are of one page, by id")
  func ties() throws {
    let call = try timelyRemote().history(
      channel: "c",
      limit: 1,
      start: nil,
      end: nil,
      cipherKey: nil
    )
    let (result, _) = try run(
      call,
      [
        page([name(2, "a"), name(2, "b"), name(1)]), stored("a"), stored("b"),
      ]
    )
    #expect(result.messages.texts == ["\"a\"", "\"b\""])
    #expect(result.more == moment(2))
  }

  @Test("What is not kept is passed over by ever longer lists, until there is something or the end")
  func expired() throws {
    let call = try timelyRemote().history(
      channel: "c",
      limit: 1,
      start: nil,
      end: nil,
      cipherKey: nil
    )
    let passed = (0..<12).map { page([name(-Int64($0), "a", "-x1")], next: "t") }
    let (result, requests) = try run(call, passed + [page([name(-12), name(-13)]), stored("12")])
    #expect(result.messages.texts == ["\"12\""])
    #expect(result.more == moment(-12))
    let sizes = requests.compactMap { request in
      request.query.split(separator: "&").first { $0.hasPrefix("max-keys=") }?.dropFirst(9)
    }
    let growing = ["2", "4", "8", "16", "32", "64", "128", "256", "512"]
    #expect(sizes.map { String($0) } == growing + Array(repeating: "1000", count: 4))
    let (end, _) = try run(call, passed + [page([])])
    #expect(end == HistoryPage(messages: [], more: nil))
    // Not for ever, but where it goes on is told; nor once there is something.
    let many = (0..<100).map { page([name(-Int64($0), "a", "-x1")], next: "t") }
    #expect(try run(call, many).value == HistoryPage(messages: [], more: moment(-99)))
    let some = [page([name(1)], next: "t")] + passed.prefix(9) + [stored("1")]
    let (early, _) = try run(call, some)
    #expect(early.messages.texts == ["\"1\""])
    #expect(early.more == moment(-8))
  }

  @Test("Lists without end of what is no message are given up")
  func endless() throws {
    let call = try timelyRemote().history(
      channel: "c",
      limit: 1,
      start: nil,
      end: nil,
      cipherKey: nil
    )
    let junk = page(["junk"], next: "t")
    let error = #expect(throws: TransferError.self) {
      try run(call, Array(repeating: junk, count: 100))
    }
    #expect(error?.code == .server)
    #expect(error?.message.contains("remove") == true)
  }

  @Test("What went meanwhile is left out; what cannot be read says so; what stops all is told")
  func unreadable() throws {
    let call = try timelyRemote().history(
      channel: "c",
      limit: 9,
      start: nil,
      end: nil,
      cipherKey: nil
    )
    let names = page([name(3), name(2), name(1)])
    var cut = stored("3")
    cut.isCut = true
    let (result, _) = try run(call, [names, fault(404, "NoSuchKey"), answer(200, [:], "[]"), cut])
    #expect(result.messages.map(\.timetoken) == [moment(2), moment(3)])
    #expect(result.messages.allSatisfy { $0.error?.code == .unknown && $0.kind == .file })
    let (partly, _) = try run(
      call,
      [names, stored("1"), fault(403, "AccessDenied"), stored("3")]
    )
    #expect(partly.messages.map(\.error?.code) == [nil, .permissionDenied, nil])
    let error = #expect(throws: TransferError.self) {
      try run(call, [names, stored("1"), fault(403, "InvalidAccessKeyId"), stored("3")])
    }
    #expect(error?.code == .unauthenticated)
  }

  @Test("A message is found by its moment")
  func message() throws {
    let remote = timelyRemote()
    let found = page([name(1, "a", "-live"), name(1, "b")])
    let (result, requests) = try run(
      remote.message(channel: "c", timetoken: moment(1)),
      [found, stored("1")]
    )
    #expect(result.message != nil)
    #expect(
      requests[0].line
        == "GET /b?\(Self.query)10&\(Self.folder)\(MessageKey.prefix(of: moment(1)))"
    )
    let (_, deletion) = try run(
      remote.deleteMessage(channel: "c", timetoken: moment(1)),
      [found, answer(204)]
    )
    #expect(deletion[1].line == "DELETE /b/channels/c/messages/\(name(1, "b"))")
    let error = #expect(throws: TransferError.self) {
      try run(remote.deleteMessage(channel: "c", timetoken: moment(1)), [page([])])
    }
    #expect(error?.code == .notFound)
  }

  @Test("A file that is there is announced, by the server's clock")
  func announce() throws {
    let remote = makeRemote()
    _ = remote.judge(
      answer(200, ["Date": "Sun, 30 Aug 2015 12:38:00 GMT"]),
      to: remote.probe,
      nowMs: now
    )
    let announcement = Announcement(
      channel: "c",
      fileID: "i",
      fileName: "n",
      store: false,
      ttlHours: 1
    )
    let call = try remote.announce(announcement, nowMs: now)
    let (timetoken, requests) = try run(call, [answer(200, objectHeaders(size: 5)), answer(200)])
    #expect(abs(timetoken.value - moment(120_500).value) <= 10_000)
    let key = try #require(MessageKey(String(requests[1].path.split(separator: "/")[4])))
    #expect(key.timetoken == timetoken)
    #expect(key.expires == timetoken.value / 10_000_000 + 3600)
    #expect(!key.isStored)
    let second = try run(call, [answer(200, objectHeaders(size: 5)), answer(200)])
    #expect(second.value > timetoken)
    // Not tried again once nobody would hear of it.
    _ = try remote.authorize(requests[1], nowMs: now + 30_000)
    let late = #expect(throws: TransferError.self) {
      try remote.authorize(requests[1], nowMs: now + 31_000)
    }
    #expect(late?.code == .server)
    #expect(late?.leavesDoubt == true)
    let error = #expect(throws: TransferError.self) { try run(call, [answer(404)]) }
    #expect(error?.code == .notFound)
  }
}
