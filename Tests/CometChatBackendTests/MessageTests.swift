import Backends
import Configuration
import JSON
import Testing
import TransferModel

@testable import CometChatBackend

@Suite("Messages")
struct MessageTests {
  private func message(_ change: (inout MediaMessage) -> Void = { _ in }) -> MediaMessage {
    var message = MediaMessage(channel: "group:team", kind: .image, attachments: [attachment()])
    change(&message)
    return message
  }

  @Test("All that a message says")
  func whole() throws {
    let request = try remote().request(
      for: message {
        $0.caption = "look"
        $0.metadata = raw(#"{"a":1.0}"#)
        $0.tags = ["t"]
        $0.muid = "m"
      }
    )
    #expect(request.path == "/v3.0/messages")
    #expect(!request.isRepeatable)
    #expect(
      request.text
        == #"{"receiver":"team","receiverType":"group","category":"message","type":"image","#
        + #""data":{"text":"look","metadata":{"a":1.0},"attachments":[{"#
        + #""url":"https://media.example.com/app1/media/a.png?Signature=s","name":"a.png","#
        + #""mimeType":"image/png","extension":"png","size":5}]},"muid":"m","tags":["t"]}"#
    )
  }

  @Test("Its muid comes from its first file, and stays")
  func muid() throws {
    let remote = try remote()
    let one = try remote.complete(message()).muid
    #expect(one != nil)
    #expect(try remote.complete(message { $0.caption = "c" }).muid == one)
    let anew = attachment(url: "https://media.example.com/app1/media/a.png?Signature=new")
    #expect(try remote.complete(message { $0.attachments = [anew] }).muid == one)
    #expect(try remote.complete(message { $0.attachments = [attachment("b.png")] }).muid != one)
  }

  @Test("What is too much is found before it is sent")
  func tooMuch() throws {
    let long = String(repeating: "c", count: 10_240)
    let cases: [(MediaMessage, String)] = [
      (message { $0.tags = Array(repeating: "t", count: 26) }, "/tags"),
      (message { $0.tags = [String(repeating: "t", count: 101)] }, "/tags"),
      (message { $0.tags = [""] }, "/tags"),
      (message { $0.muid = String(repeating: "m", count: 101) }, "/muid"),
      (message { $0.muid = "" }, "/muid"),
      (message { $0.caption = long }, "/caption"),
      (message { $0.metadata = raw("{\"a\":\"\(long)\"}") }, "/metadata"),
      (message { $0.channel = "team" }, "/channel"),
    ]
    let remote = try remote()
    for (message, field) in cases {
      let error = #expect(throws: TransferError.self) { try remote.complete(message) }
      #expect(error?.field == field)
    }
  }

  @Test("10,240 bytes of data are taken, one more is not")
  func dataLimit() throws {
    let empty = MessageBody.data(of: message { $0.caption = "" }).count
    let remote = try remote()
    let full = String(repeating: "c", count: 10_240 - empty)
    _ = try remote.complete(message { $0.caption = full })
    #expect(throws: TransferError.self) { try remote.complete(message { $0.caption = full + "c" }) }
    _ = try remote.complete(message { $0.tags = Array(repeating: "t", count: 25) })
  }

  @Test(
    "Channels are conversations",
    arguments: [
      ("user:bob", "user", "bob"), ("user:BoB", "user", "bob"), ("group:a-b_1", "group", "a-b_1"),
      ("bob", nil, nil), ("user:", nil, nil), ("user:b b", nil, nil), ("team:x", nil, nil),
      ("user:a:b", nil, nil), ("user:\(String(repeating: "a", count: 101))", nil, nil),
    ] as [(String, String?, String?)]
  )
  func conversations(_ channel: String, _ type: String?, _ receiver: String?) {
    let found = try? Conversation(channel)
    #expect(found?.type == type)
    #expect(found?.receiver == receiver)
  }

  private static func entry(_ id: Int, _ more: String = "") -> String {
    #"{"id":"\#(id)","sender":"alice","receiver":"team","receiverType":"group","category":"message","#
      + #""sentAt":5,"data":{"text":"hi"}\#(more)}"#
  }

  private func history(
    _ body: String,
    limit: Int = 100,
    start: Int64? = nil,
    end: Int64? = nil
  ) throws -> HistoryPage {
    let call = try remote().history(
      channel: "group:team",
      limit: limit,
      start: start.map { Timetoken($0) },
      end: end.map { Timetoken($0) },
      cipherKey: nil
    )
    guard case .ask(let request, let then) = call, case .done(let page) = try then(answer(body))
    else { throw TransferError(.unknown, "no question") }
    #expect(request.path == "/v3.0/groups/team/messages")
    return page
  }

  @Test("A page is sorted, without what is no message, and says where the one before it starts")
  func pages() throws {
    let body = [
      Self.entry(5), Self.entry(3), Self.entry(4, #","deletedAt":1"#),
      Self.entry(6).replacing(#""message""#, with: #""action""#),
    ]
    let page = try history(#"{"data":[\#(body.joined(separator: ","))]}"#, limit: 4)
    #expect(page.messages.map(\.timetoken.value) == [3, 5])
    #expect(page.more == Timetoken(3))
    #expect(page.messages.map(\.publisher) == ["alice", "alice"])
    #expect(page.messages.map(\.sentMs) == [5000, 5000])
    #expect(try history(#"{"data":[\#(Self.entry(5))]}"#, limit: 2).more == nil)
    let cut = try history(#"{"data":[\#(body.joined(separator: ","))]}"#, limit: 4, end: 4)
    #expect(cut.messages.map(\.timetoken.value) == [5])
    #expect(cut.more == nil)
  }

  @Test(
    "A moment that is none is not told",
    arguments: ["-1", "9223372036854775807", "\"soon\"", "1.5", "null"]
  )
  func moments(_ moment: String) throws {
    let page = try history(#"{"data":[{"id":7,"sentAt":\#(moment),"data":{}}]}"#)
    #expect(page.messages.map(\.sentMs) == [nil])
  }

  @Test("Files come with their addresses, also where data is a text")
  func files() throws {
    let data =
      #"{"attachments":[{"url":"https://m.example.com/x/1_a.png?s","name":"a.png","size":"5"},"#
      + #"{"url":"nothing"},{"url":"https://m.example.com/x/2"}]}"#
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("id", 7)
    writer.field("data", data)
    writer.endObject()
    let text = String(decoding: writer.take(), as: UTF8.self)
    for body in [text, #"{"id":7,"data":\#(data)}"#] {
      let page = try history(#"{"data":[\#(body)]}"#)
      let message = try #require(page.messages.first)
      #expect(message.kind == .file)
      #expect(message.attachments.map(\.file.id) == ["x/1_a.png", "x/2"])
      #expect(message.file?.size == 5)
      #expect(message.fileURL == "https://m.example.com/x/1_a.png?s")
    }
  }

  @Test("A message that may have been made is looked for by its muid and its files")
  func doubt() throws {
    let file = attachment()
    let asked = AskedMessage(
      channel: "group:team",
      fileIDs: [file.file.id],
      muid: "m",
      askedMs: 0
    )
    func found(_ entries: String..., pages: Int = 1) throws -> MessageFinding {
      guard var call = try remote().find(asked) else { return .unknown }
      for _ in 0..<pages {
        guard case .ask(let request, let then) = call else { break }
        #expect(request.method == .get)
        call = try then(answer(#"{"data":[\#(entries.joined(separator: ","))]}"#))
      }
      guard case .done(let finding) = call else { throw TransferError(.unknown, "asks on") }
      return finding
    }
    func entry(_ id: Int, _ muid: String, _ url: String) -> String {
      #"{"id":"\#(id)","muid":"\#(muid)","data":{"attachments":[{"url":"\#(url)"}]}}"#
    }
    #expect(try found(entry(8, "m", file.url)) == .made(Timetoken(8)))
    #expect(try found() == .absent)
    #expect(try found(entry(8, "other", file.url)) == .absent)
    #expect(try found(entry(8, "m", "https://media.example.com/app1/media/b.png")) == .absent)
    let others = (1...100).map { entry($0, "other", file.url) }.joined(separator: ",")
    #expect(try found(others, pages: CometChatRemote.lookedPages) == .unknown)
  }

  @Test(
    "The settings' limits, wherever they are",
    arguments: [
      (#"{"data":{"settings":{"file.size.max":7,"file.count.max":"3"}}}"#, 7, 3),
      (#"{"data":{"file.size.max":"2147483648"}}"#, 2_147_483_648, nil),
    ] as [(String, Int64?, Int?)]
  )
  func settings(_ body: String, _ size: Int64?, _ count: Int?) throws {
    let limits = try remote().limits(in: answer(body))
    #expect(limits == RemoteLimits(maxFileSize: size, maxFileCount: count))
  }

  @Test(
    "An answer without limits leaves them to be asked for again",
    arguments: [
      (#"{"file.size.max":0,"file.count.max":-1}"#, 200), ("[]", 200), ("<html>", 200),
      ("{}", 403), ("{}", 401),
    ]
  )
  func noSettings(_ body: String, _ status: Int) throws {
    let remote = try remote()
    guard case .ask(_, let then) = remote.learnLimits() else {
      Issue.record("not asked")
      return
    }
    #expect(throws: TransferError.self) { try then(answer(body, status)) }
    #expect(remote.learnLimits() != nil)
  }

  @Test("The configuration beats the settings, which beat what is built in")
  func limits() throws {
    var own = Limits()
    own.maxFileCount = 4
    let remote = try remote(limits: own)
    #expect(remote.ownLimits == RemoteLimits(maxFileSize: 104_857_600, maxFileCount: 4))
    guard case .ask(_, let then) = remote.learnLimits() else {
      Issue.record("not asked")
      return
    }
    _ = try then(answer(#"{"data":{"file.size.max":7,"file.count.max":9}}"#))
    #expect(remote.ownLimits == RemoteLimits(maxFileSize: 7, maxFileCount: 4))
    let asked = remote.learnLimits()
    #expect(asked == nil)
  }

  @Test("A server asks with its key, for somebody; a token cannot take its place")
  func server() throws {
    let remote = try remote(.server(apiKey: Secret("k3y"), onBehalfOf: "alice"))
    let request = try remote.authorize(remote.messageRequest(Timetoken(1)), nowMs: 0)
    #expect(request.header("apikey") == "k3y")
    #expect(request.header("onBehalfOf") == "alice")
    #expect(request.header("authToken") == nil)
    var credentials = RemoteCredentials()
    credentials.authToken = "t"
    #expect(throws: TransferError.self) { try remote.replaceCredentials(by: credentials) }
    let fault = answer(#"{"error":{"code":"X","message":"key k3y is odd"}}"#, 400)
    let error = remote.error(fault, doing: "do it")
    #expect(!error.message.contains("k3y"))
    #expect(error.serverMessage == "key (secret) is odd")
  }
}
