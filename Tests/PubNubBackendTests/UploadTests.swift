import Backends
import Configuration
import Crypto
import Testing
import TransferModel

@testable import PubNubBackend

@Suite("Uploads")
struct UploadTests {
  private let content = OutgoingContent(size: 5, sha256: "aa", identity: "1")
  private static let stored = HTTPResponse(status: 204)
  private static let sent = answer(#"[1,"Sent","17464660120899663"]"#)

  /// A conversation up to the form, whose answer comes next.
  private func begun(
    _ remote: PubNubRemote = remote(),
    _ spec: TransferSpec = sendSpec()
  ) throws -> any Backend {
    var upload = try remote.upload(spec)
    #expect(upload.next() == .content(.openSource))
    upload.receive(.sourceOpened(content))
    #expect(upload.next().request == remote.slotRequest(channel: "ch", name: "a b.txt"))
    upload.receive(.answered(id: 0, slotAnswer))
    return upload
  }

  /// One up to the announcement, whose answer comes next.
  private func stored(
    _ remote: PubNubRemote = remote(),
    _ spec: TransferSpec = sendSpec()
  ) throws -> any Backend {
    var upload = try begun(remote, spec)
    _ = upload.next()
    upload.receive(.answered(id: 0, Self.stored))
    #expect(upload.next() == .content(.verifySource))
    upload.receive(.sourceVerified)
    #expect(upload.next() == .content(.remember))
    upload.receive(.remembered)
    return upload
  }

  @Test("A file is stored, then remembered, then announced by the name that was kept")
  func whole() throws {
    var upload = try begun()
    #expect(upload.settled == 0)
    #expect(upload.unannounced == nil)
    let form = try #require(upload.next().request)
    #expect(form.origin == "https://store.example.com")
    #expect(form.path == "/")
    #expect(form.query == "")
    #expect(form.lane == .bulk)
    #expect(!form.isRepeatable)
    upload.receive(.answered(id: 0, Self.stored))
    upload.receive(.sourceVerified)
    #expect(upload.unannounced?.name == "kept.txt")
    #expect(upload.checkpoint != nil)
    #expect(upload.settled == 5)
    #expect(upload.next() == .content(.remember))
    upload.receive(.remembered)
    let publish = try #require(upload.next().request)
    #expect(PercentEncoding.decode(publish.path)?.contains(#""id":"f1","name":"kept.txt""#) == true)
    upload.receive(.answered(id: 0, Self.sent))
    guard case .done(.shared(let shared)) = upload.next() else {
      Issue.record("not done")
      return
    }
    #expect(shared.timetoken == Timetoken(17_464_660_120_899_663))
    #expect(shared.file.size == 5)
    #expect(shared.file.sha256 == "aa")
    #expect(shared.url?.hasSuffix("/files/f1/kept.txt?pnsdk=Ferry%2F1&uuid=user%201") == true)
    #expect(upload.unannounced == nil)
  }

  @Test("The form has every field in order, the empty one too, and the file last")
  func form() throws {
    let request = try UploadSlot(slotAnswer).request(size: 5, type: "text/plain")
    let boundary = "ferry-f1"
    #expect(request.header("Content-Type") == "multipart/form-data; boundary=\(boundary)")
    func field(_ name: String, _ value: String) -> String {
      "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
    }
    let expected =
      field("tagging", "<Tagging/>") + field("key", "sub/H/f1/kept.txt")
      + field("Content-Type", "text/plain") + field("X-Amz-Security-Token", "")
      + field("Policy", "e30=")
      + "--\(boundary)\r\nContent-Disposition: form-data; name=\"file\"; filename=\"kept.txt\"\r\n"
      + "Content-Type: text/plain\r\n\r\n<0..<5>\r\n--\(boundary)--\r\n"
    #expect(request.text == expected)
  }

  @Test("Names in forms cannot end their quotes or their line")
  func quoting() throws {
    var slot = try UploadSlot(slotAnswer)
    slot.name = "a\"b\r\nc é.txt"
    #expect(
      slot.request(size: 0, type: "a/b").text.contains("filename=\"a%22b%0D%0Ac é.txt\"\r\n")
    )
  }

  @Test("Of an outcome that does not follow, nothing but its case is told")
  func caseNames() {
    #expect(StepOutcome.answered(id: 0, slotAnswer).name == "answered")
    #expect(StepOutcome.failed(id: 0, TransferError(.network, "secret")).name == "failed")
    #expect(StepOutcome.remembered.name == "remembered")
  }

  @Test("Any 2xx is a success", arguments: [200, 201, 204])
  func success(_ status: Int) throws {
    var upload = try begun()
    _ = upload.next()
    upload.receive(.answered(id: 0, HTTPResponse(status: status)))
    #expect(upload.next() == .content(.verifySource))
  }

  @Test("Encrypted, the ciphertext's size is the form's, and its type says nothing")
  func encryption() throws {
    var upload = try remote(encrypted).upload(sendSpec())
    _ = upload.next()
    upload.receive(.sourceOpened(content))
    guard case .content(.encryptSource(let cipher)) = upload.next() else {
      Issue.record("not encrypted")
      return
    }
    #expect(cipher == ContentCipher(cipherKey: "enigma"))
    upload.receive(.sourceOpened(OutgoingContent(size: 42, identity: "1")))
    _ = upload.next()
    upload.receive(.answered(id: 0, slotAnswer))
    let form = try #require(upload.next().request)
    #expect(form.text.contains("<0..<42>"))
    #expect(form.text.contains("name=\"Content-Type\"\r\n\r\napplication/octet-stream\r\n"))
    upload.receive(.answered(id: 0, Self.stored))
    upload.receive(.sourceVerified)
    #expect(upload.unannounced?.size == 5)
    #expect(upload.settled == 42)
  }

  @Test("A key of the request encrypts that request alone, in the older form")
  func requestKey() throws {
    var upload = try remote().upload(sendSpec { $0.cipherKey = Secret("k") })
    _ = upload.next()
    upload.receive(.sourceOpened(content))
    #expect(
      upload.next()
        == .content(.encryptSource(ContentCipher(cipherKey: "k", form: .legacy)))
    )
  }

  @Test(
    "What is too large once stored is refused before PubNub is asked",
    arguments: [
      (5_242_880, false, true), (5_242_881, false, false), (5_242_847, true, true),
      (5_242_848, true, false), (0, false, true), (0, true, false),
    ] as [(Int64, Bool, Bool)]
  )
  func sizes(_ size: Int64, _ isEncrypted: Bool, _ isTaken: Bool) throws {
    var upload = try remote { if isEncrypted { encrypted(&$0) } }.upload(sendSpec())
    _ = upload.next()
    upload.receive(.sourceOpened(OutgoingContent(size: size, identity: "1")))
    let error = upload.next().error
    #expect((error == nil) == isTaken)
    if !isTaken {
      #expect(error?.code == (size == 0 ? .fileDataEmpty : .fileSizeExceeded))
      #expect(error?.phase == .prepare)
    }
  }

  @Test("Without a limit of ours, the storage's own decides")
  func unlimited() throws {
    var upload = try remote(maxFileSize: nil).upload(sendSpec())
    _ = upload.next()
    upload.receive(.sourceOpened(OutgoingContent(size: 1 << 30, identity: "1")))
    #expect(upload.next().request != nil)
  }

  private static func xml(_ code: String, _ message: String, _ status: Int) -> HTTPResponse {
    answer("<Error><Code>\(code)</Code><Message>\(message)</Message></Error>", status)
  }

  @Test(
    "The storage's refusals keep its words",
    arguments: [
      (xml("EntityTooLarge", "too big", 400), .fileSizeExceeded, false),
      (xml("SignatureDoesNotMatch", "no", 403), .s3UploadFailed, true),
      (xml("MalformedPOSTRequest", "no", 400), .s3UploadFailed, true),
      (xml("InternalError", "sorry", 500), .s3UploadFailed, true),
    ] as [(HTTPResponse, ErrorCode, Bool)]
  )
  func storage(_ response: HTTPResponse, _ code: ErrorCode, _ isRetryable: Bool) throws {
    var upload = try begun()
    _ = upload.next()
    upload.receive(.answered(id: 0, response))
    let error = try #require(upload.next().error)
    #expect(error.code == code)
    #expect(error.isRetryable == isRetryable)
    #expect(error.serverCode != nil)
    #expect(error.serverMessage != nil)
    #expect(upload.unannounced == nil)
  }

  @Test("A place that expired is asked for again, a bounded number of times")
  func expiry() throws {
    let remote = remote()
    var upload = try begun(remote)
    let expired = Self.xml("AccessDenied", "Invalid according to Policy: Policy expired.", 403)
    for _ in 0..<2 {
      _ = upload.next()
      upload.receive(.answered(id: 0, expired))
      #expect(upload.next().request == remote.slotRequest(channel: "ch", name: "a b.txt"))
      upload.receive(.answered(id: 0, slotAnswer))
    }
    _ = upload.next()
    upload.receive(.answered(id: 0, expired))
    #expect(upload.next().error?.code == .presignedURLExpired)
  }

  @Test(
    "A refused place is told by what it says of the right to ask",
    arguments: [
      (400, #"{"error":{"message":"bad","source":"Files","code":3001}}"#, .presignedURLFailed),
      (402, "{}", .unsupported), (403, #"{"message":"Forbidden"}"#, .permissionDenied),
      (403, #"{"message":"Token is expired"}"#, .unauthenticated),
    ] as [(Int, String, ErrorCode)]
  )
  func slotRefused(_ status: Int, _ body: String, _ code: ErrorCode) throws {
    var upload = try remote().upload(sendSpec())
    _ = upload.next()
    upload.receive(.sourceOpened(content))
    _ = upload.next()
    upload.receive(.answered(id: 0, answer(body, status)))
    let error = try #require(upload.next().error)
    #expect(error.code == code)
    #expect(!error.isRetryable)
  }

  @Test(
    "An answer without a place is none",
    arguments: [
      ("{}", .presignedURLFailed), ("x", .presignedURLFailed),
      (
        #"{"data":{"id":"i","name":"n"},"file_upload_request":{"url":"ftp://x","form_fields":[]}}"#,
        .invalidURL
      ),
    ] as [(String, ErrorCode)]
  )
  func badSlot(_ body: String, _ code: ErrorCode) {
    let error = #expect(throws: TransferError.self) { try UploadSlot(answer(body)) }
    #expect(error?.code == code)
  }

  private static let history = """
    {"status":200,"channels":{"ch":[{"message":{"file":{"id":"f1","name":"kept.txt"}},
    "message_type":4,"timetoken":"99"}]}}
    """

  @Test("A lost announcement is looked for before it is made again")
  func lostAnswer() throws {
    let remote = remote()
    var upload = try stored(remote)
    _ = upload.next()
    upload.receive(.failed(id: 0, TransferError(.network, "gone")))
    let question = remote.historyRequest(channel: "ch", limit: 100)
    #expect(upload.next().request == question)
    upload.receive(.answered(id: 0, answer(Self.history)))
    guard case .done(.shared(let shared)) = upload.next() else {
      Issue.record("not found")
      return
    }
    #expect(shared.timetoken == Timetoken(99))
  }

  @Test("It is made again where it is not there, or history is not for us", arguments: [0, 1, 2])
  func again(_ how: Int) throws {
    var upload = try stored()
    _ = upload.next()
    upload.receive(.failed(id: 0, TransferError(.server, "no")))
    _ = upload.next()
    switch how {
    case 0: upload.receive(.answered(id: 0, answer(#"{"channels":{}}"#)))
    case 1: upload.receive(.answered(id: 0, answer("{}", 403)))
    default: upload.receive(.answered(id: 0, answer("{}", 402)))
    }
    guard case .http(let exchange) = upload.next() else {
      Issue.record("not announced again")
      return
    }
    #expect(exchange.request.path.contains("publish-file"))
    #expect(exchange.delay == .milliseconds(250))
    #expect(exchange.tellsFailure)
  }

  @Test(
    "While history fails, nothing is announced",
    arguments: [
      .failed(id: 0, TransferError(.network, "gone")),
      .failed(id: 0, TransferError(.server, "no")), .answered(id: 0, answer("<html>")),
      .answered(id: 0, answer("[1]")), .answered(id: 0, answer(#"{"t":{}}"#)),
      .answered(id: 0, answer(#"{"error":true,"channels":{}}"#)),
    ] as [StepOutcome]
  )
  func historyFails(_ outcome: StepOutcome) throws {
    let remote = remote()
    var upload = try stored(remote)
    _ = upload.next()
    upload.receive(.failed(id: 0, TransferError(.network, "gone")))
    _ = upload.next()
    upload.receive(outcome)
    let error = try #require(upload.next().error)
    #expect(error.isRetryable)
    #expect(error.phase == .publish)
    #expect(upload.unannounced?.id == "f1")
    upload.restart()
    #expect(upload.next().request == remote.historyRequest(channel: "ch", limit: 100))
  }

  private static func page(before more: Int64) -> HTTPResponse {
    answer(#"{"channels":{"ch":[]},"more":{"start":"\#(more)"}}"#)
  }

  @Test("It is looked for in pages back to before it was made, by a later process too")
  func pages() throws {
    let remote = remote()
    var first = try remote.upload(sendSpec())
    _ = first.next()
    first.receive(.sourceOpened(content))
    _ = first.next()
    var slot = slotAnswer
    slot.headers = [HTTPHeader("Date", "Mon, 05 May 2025 17:26:44 GMT")]
    first.receive(.answered(id: 0, slot))
    _ = first.next()
    first.receive(.answered(id: 0, Self.stored))
    first.receive(.sourceVerified)
    let checkpoint = try #require(first.checkpoint)
    // A minute before.
    let since: Int64 = 17_464_659_440_000_000
    for (last, isFound) in [(since + 1, true), (since, false), (since - 1, false)] {
      var upload = try remote.upload(sendSpec())
      upload.recover(checkpoint)
      _ = upload.next()
      upload.receive(.answered(id: 0, Self.page(before: since + 9)))
      #expect(
        upload.next().request
          == remote.historyRequest(channel: "ch", limit: 100, start: Timetoken(since + 9))
      )
      upload.receive(.answered(id: 0, Self.page(before: last)))
      #expect(upload.next().request?.path.contains("publish-file") != isFound)
      guard isFound else { continue }
      upload.receive(.answered(id: 0, answer(Self.history)))
      guard case .done = upload.next() else {
        Issue.record("not found")
        return
      }
    }
  }

  @Test("Pages of history are bounded, and must lead back")
  func pageBounds() throws {
    for (step, count) in [(Int64(1), 100), (0, 2), (-1, 2)] {
      var upload = try stored()
      _ = upload.next()
      upload.receive(.interrupted(id: 0))
      var pages = 0
      while let request = upload.next().request, request.path.contains("/history/"), pages < 200 {
        pages += 1
        upload.receive(.answered(id: 0, Self.page(before: 1_000_000 - Int64(pages) * step)))
      }
      #expect(pages == count)
    }
  }

  @Test("Announcing is tried as often as the configuration says", arguments: [1, 2, 5])
  func limit(_ limit: Int) throws {
    var upload = try stored(remote { $0.publishRetryLimit = limit }, sendSpec { $0.store = false })
    for attempt in 1...limit {
      guard case .http(let exchange) = upload.next() else {
        Issue.record("given up after \(attempt - 1)")
        return
      }
      #expect(exchange.delay == (attempt == 1 ? .zero : .milliseconds(125 << (attempt - 1))))
      upload.receive(.failed(id: 0, TransferError(.server, "no")))
    }
    #expect(upload.next().error?.code == .server)
    #expect(upload.unannounced?.id == "f1")
  }

  @Test("What is refused for good is not tried again")
  func refused() throws {
    var upload = try stored()
    _ = upload.next()
    upload.receive(.answered(id: 0, answer(#"{"message":"Forbidden"}"#, 403)))
    #expect(upload.next().error?.code == .permissionDenied)
    #expect(upload.unannounced?.id == "f1")
  }

  @Test("The service's pace is kept")
  func pace() throws {
    var upload = try stored()
    _ = upload.next()
    var limited = TransferError(.rateLimited, "slow")
    limited.retryAfterMs = 7000
    upload.receive(.failed(id: 0, limited))
    guard case .http(let exchange) = upload.next() else {
      Issue.record("not announced again")
      return
    }
    #expect(exchange.delay == .seconds(7))
  }

  @Test("A retry announces what is stored and uploads nothing")
  func retry() throws {
    let remote = remote()
    var upload = try stored(remote)
    _ = upload.next()
    upload.receive(.answered(id: 0, answer("{}", 403)))
    _ = upload.next()
    upload.restart()
    #expect(upload.next().request == remote.historyRequest(channel: "ch", limit: 100))
    upload.receive(.answered(id: 0, answer(#"{"channels":{}}"#)))
    #expect(upload.next().request?.path.contains("publish-file") == true)
    // One of which nothing is stored begins again.
    var other = try begun()
    other.restart()
    #expect(other.next() == .content(.openSource))
  }

  @Test("A later process goes on with the announcement")
  func recovery() throws {
    let remote = remote()
    let checkpoint = try #require(try stored(remote).checkpoint)
    var upload = try remote.upload(sendSpec())
    upload.recover(checkpoint)
    #expect(upload.unannounced?.id == "f1")
    #expect(upload.settled == 5)
    #expect(upload.next().request == remote.historyRequest(channel: "ch", limit: 100))
    upload.receive(.answered(id: 0, answer(#"{"channels":{}}"#)))
    _ = upload.next()
    upload.receive(.answered(id: 0, Self.sent))
    guard case .done(.shared(let shared)) = upload.next() else {
      Issue.record("not done")
      return
    }
    #expect(shared.file.name == "kept.txt")
    #expect(shared.file.sha256 == "aa")
    var anew = try remote.upload(sendSpec())
    anew.recover(nil)
    #expect(anew.next() == .content(.openSource))
  }

  @Test("A source that changed meanwhile leaves nothing")
  func changed() throws {
    let remote = remote()
    var upload = try begun(remote)
    _ = upload.next()
    upload.receive(.answered(id: 0, Self.stored))
    #expect(upload.next() == .content(.verifySource))
    #expect(upload.unannounced == nil)
    #expect(
      upload.cleanUp == [remote.deleteRequest(channel: "ch", id: "f1", name: "kept.txt")]
    )
  }

  @Test("Paused, it goes on from the last thing that is sure")
  func pauses() throws {
    let remote = remote()
    var upload = try begun(remote)
    _ = upload.next()
    upload.receive(.interrupted(id: 0))
    #expect(upload.next().request == remote.slotRequest(channel: "ch", name: "a b.txt"))
    var late = try stored(remote)
    _ = late.next()
    late.receive(.interrupted(id: 0))
    #expect(late.next().request == remote.historyRequest(channel: "ch", limit: 100))
  }
}
