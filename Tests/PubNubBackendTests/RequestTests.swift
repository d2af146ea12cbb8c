import Backends
import Configuration
import Crypto
import Testing
import TransferModel

@testable import PubNubBackend

@Suite("Requests")
struct RequestTests {
  @Test(
    "Names are encoded strictly",
    arguments: [
      ("a b/c~é", "a%20b%2Fc~%C3%A9", "a%20b%2Fc%7E%C3%A9"), ("a+b?c#d", "a%2Bb%3Fc%23d", nil),
      ("x,y", "x%2Cy", nil), ("A-Z_0.9", "A-Z_0.9", nil), ("!*'()", "%21%2A%27%28%29", nil),
      ("🙃%", "%F0%9F%99%83%25", nil), ("\r\n", "%0D%0A", nil),
    ] as [(String, String, String?)]
  )
  func encoding(_ text: String, _ segment: String, _ value: String?) {
    #expect(PercentEncoding.component(text) == segment)
    #expect(Query.encode(text) == value ?? segment)
    #expect(PercentEncoding.decode(segment) == text)
  }

  @Test("What is no encoding is not decoded", arguments: ["%", "%4", "%GG", "%FF"])
  func badEncoding(_ text: String) {
    #expect(PercentEncoding.decode(text) == nil)
  }

  @Test("A place is asked for with the name alone")
  func slot() throws {
    let remote = remote()
    let request = try remote.authorize(remote.slotRequest(channel: "é", name: "a \"b\""), nowMs: 0)
    #expect(request.method == .post)
    #expect(request.path == "/v1/files/sub/channels/%C3%A9/generate-upload-url")
    #expect(request.query == "pnsdk=Ferry%2F1&uuid=user%201")
    #expect(request.text == #"{"name":"a \"b\""}"#)
    #expect(request.header("content-type") == "application/json")
  }

  @Test("An announcement carries what the host said")
  func publish() throws {
    let announcement = Announcement(
      channel: "ch",
      fileID: "f1",
      fileName: "my file#1.txt",
      message: raw(#"{"t":"hi + / ~"}"#),
      meta: raw(#"{"k":"v v"}"#),
      store: false,
      ttlHours: 2,
      customMessageType: "my-type",
      replicate: false,
      query: [QueryParameter("seqn", "1"), QueryParameter("a", "b c")]
    )
    let request = try remote().publishRequest(announcement)
    let message = #"{"message":{"t":"hi + / ~"},"file":{"id":"f1","name":"my file#1.txt"}}"#
    #expect(
      request.path == "/v1/files/publish-file/pub/sub/0/ch/0/" + PercentEncoding.component(message)
    )
    #expect(
      request.query == "a=b%20c&custom_message_type=my-type&meta=%7B%22k%22%3A%22v%20v%22%7D"
        + "&norep=true&seqn=1&store=0&ttl=2"
    )
    #expect(!request.isRepeatable)
  }

  @Test("What the host did not say is not sent")
  func plainPublish() throws {
    let announcement = Announcement(channel: "ch", fileID: "f1", fileName: "a")
    let request = try remote().publishRequest(announcement)
    #expect(request.query == "store=1")
    #expect(request.path.hasSuffix(PercentEncoding.component(#"{"file":{"id":"f1","name":"a"}}"#)))
  }

  @Test("Parameters of ferry's own cannot be given", arguments: ["uuid", "auth", "store", ""])
  func reserved(_ name: String) throws {
    let announcement = Announcement(
      channel: "ch",
      fileID: "f1",
      fileName: "a",
      query: [QueryParameter(name, "x")]
    )
    let error = try #require(throws: TransferError.self) {
      try remote().publishRequest(announcement)
    }
    #expect(error.code == .invalidArgument)
    #expect(error.field == "/query")
  }

  @Test("Without a publishKey nothing is announced")
  func noPublishKey() throws {
    let remote = remote { $0.publishKey = nil }
    let error = try #require(throws: TransferError.self) { try remote.upload(sendSpec()) }
    #expect(error.code == .config)
    #expect(error.message.contains("publishKey"))
  }

  @Test("A token goes with every call and with no request to the storage")
  func token() throws {
    let remote = remote { $0.authToken = Secret("qEF2+") }
    let call = try remote.authorize(
      remote.deleteRequest(channel: "c", id: "i", name: "n"),
      nowMs: 0
    )
    #expect(call.query == "auth=qEF2%2B&pnsdk=Ferry%2F1&uuid=user%201")
    let slot = try UploadSlot(slotAnswer)
    let form = slot.request(size: 3, type: "text/plain")
    #expect(try remote.authorize(form, nowMs: 0) == form)
    var credentials = RemoteCredentials()
    credentials.authToken = "new"
    let old = answer(#"{"message":"token qEF2+ is odd"}"#, 400)
    try remote.replaceCredentials(by: credentials)
    let words = remote.error(old, doing: "do it").serverMessage
    #expect(words == "token (secret) is odd", "a request with it may be under way")
    let later = try remote.authorize(
      remote.deleteRequest(channel: "c", id: "i", name: "n"),
      nowMs: 0
    )
    #expect(later.query.hasPrefix("auth=new&"))
    credentials.idToken = "x"
    #expect(throws: TransferError.self) { try remote.replaceCredentials(by: credentials) }
  }

  @Test("The URL of a file can be used as it is, and leads back to the file")
  func fileURL() throws {
    let remote = remote { $0.authToken = Secret("t") }
    let url = try remote.url(channel: "ch", id: "f1", name: "a b/é#?.txt", nowMs: 0)
    #expect(
      url == "http://127.0.0.1:8080/v1/files/sub/channels/ch/files/f1/a%20b%2F%C3%A9%23%3F.txt"
        + "?auth=t&pnsdk=Ferry%2F1&uuid=user%201"
    )
    #expect(
      try remote.place(of: .url(url)) == .file(channel: "ch", id: "f1", name: "a b/é#?.txt")
    )
    for other in [
      "https://127.0.0.1:8080/v1/files/sub/channels/ch/files/f1/a",
      "http://127.0.0.1:8080/v1/files/other/channels/ch/files/f1/a",
      "http://127.0.0.1:8080/v1/files/sub/channels/ch/files/f1", "file:///a", "x",
      "http://127.0.0.1:8080/v1/files/sub/channels/a%2Cb%20c/files/f1/a",
      "http://127.0.0.1:8080/v1/files/sub/channels//files/f1/a",
      "http://127.0.0.1:8080/v1/files/sub/channels/ch/files//a",
      "http://127.0.0.1:8080/v1/files/sub/channels/ch/files/f1/",
      "http://127.0.0.1:8080/v1/files/sub/channels/ch/files/f1/%0A",
    ] {
      let error = try #require(throws: TransferError.self) { try remote.place(of: .url(other)) }
      #expect(error.field == "/url")
    }
  }

  @Test("Looking at an announcement says nothing of the time that signs URLs")
  func clock() throws {
    let remote = remote { $0.secretKey = Secret("sec") }
    let request = remote.historyRequest(channel: "ch", limit: 1)
    let history = answer(
      #"{"channels":{"ch":[{"message":{"file":{"id":"f1","name":"a"}},"message_type":4,"#
        + #""timetoken":"99"}]}}"#
    )
    _ = remote.judge(history, to: request, nowMs: 1_700_000_000_000)
    _ = try remote.upload(sendSpec())
    _ = try remote.announce(
      Announcement(channel: "ch", fileID: "f1", fileName: "a"),
      nowMs: 1_700_000_000_001
    )
    // As where it is looked at whether what was refused would be signed otherwise by now.
    _ = try remote.authorize(request, nowMs: 1)
    guard
      case .ask(_, let then) = try remote.history(
        channel: "ch",
        limit: 1,
        start: nil,
        end: nil,
        cipherKey: nil
      ), case .done(let page) = try then(history)
    else {
      Issue.record("no page")
      return
    }
    #expect(page.messages.first?.fileURL?.contains("timestamp=1700000000&") == true)
  }

  @Test(
    "Channels that PubNub does not take are refused before it is asked",
    arguments: [
      "", "a b", "a,b", "a/b", "a\\b", "a*", "a:b", "a\tb", "a\u{7f}",
      String(repeating: "a", count: 93), String(repeating: "e\u{301}", count: 47),
    ]
  )
  func badChannels(_ channel: String) throws {
    let remote = remote()
    for call in [
      { _ = try remote.upload(sendSpec(channel: channel)) },
      { _ = try remote.listFiles(channel: channel, limit: 1, next: nil) },
      { _ = try remote.fileURL(channel: channel, id: "i", name: "n", nowMs: 0) },
      { _ = try remote.deleteFile(channel: channel, id: "i", name: "n") },
      { _ = try remote.download(downloadSpec(.key(channel: channel, id: "i", name: "n"))) },
    ] as [() throws -> Void] {
      let error = try #require(throws: TransferError.self) { try call() }
      #expect(error.code == .invalidArgument)
      #expect(error.field == "/channel")
    }
  }

  @Test("Channels of 92 characters are taken", arguments: ["é", "a.b-c_d", "私"])
  func goodChannels(_ part: String) throws {
    let channel = String(String(repeating: part, count: 92).prefix(92))
    #expect(throws: Never.self) { try remote().upload(sendSpec(channel: channel)) }
  }

  @Test(
    "Types of messages are looked at before the upload",
    arguments: [
      ("ts", false), (String(repeating: "a", count: 56), false), ("pn-test-step", false),
      ("pn_test-step", false), ("-test-step", false), ("_test-step", false), ("test:step", false),
      ("test.step", false), ("té_step", false), ("test_message_type", true),
      ("custom-message-type", true), ("v2-1", true), ("pnx", true),
    ]
  )
  func customTypes(_ type: String, _ isGood: Bool) {
    let spec = sendSpec { $0.customMessageType = type }
    #expect(((try? remote().upload(spec)) != nil) == isGood)
  }

  @Test("An announcement has 32 KiB after escaping, encryption included")
  func announcementSize() throws {
    func fits(_ text: String, _ change: (inout PubNubSettings) -> Void = { _ in }) -> Bool {
      (try? remote(change).upload(sendSpec { $0.message = raw("\"\(text)\"") })) != nil
    }
    #expect(fits(String(repeating: "a", count: 32_000)))
    #expect(!fits(String(repeating: "a", count: 33_000)))
    #expect(!fits(String(repeating: " ", count: 11_000)))
    #expect(fits(String(repeating: "a", count: 20_000), encrypted))
    #expect(!fits(String(repeating: "a", count: 26_000), encrypted))
  }

  @Test("What PubNub must read is not encrypted without a word", arguments: ["pn_apns", "pn_fcm"])
  func push(_ name: String) throws {
    let message = raw(#"{"\#(name)":{"aps":{}},"x":1}"#)
    let spec = sendSpec { $0.message = message }
    #expect(throws: Never.self) { try remote().upload(spec) }
    let error = try #require(throws: TransferError.self) { try remote(encrypted).upload(spec) }
    #expect(error.field == "/message/\(name)")
  }

  @Test("A key of a request that was not kept never means unencrypted")
  func lostKey() throws {
    let spec = sendSpec { $0.cipherKey = Secret("") }
    let error = try #require(throws: TransferError.self) { try remote().upload(spec) }
    #expect(error.field == "/cipherKey")
  }

  @Test("Objects are for other remotes")
  func objects() throws {
    var spec = sendSpec()
    spec.operation = .getObject(
      GetObject(reference: ObjectReference(path: "a"), range: nil, target: .temporary)
    )
    let error = try #require(throws: TransferError.self) { try remote().download(spec) }
    #expect(error.code == .unsupported)
  }
}
