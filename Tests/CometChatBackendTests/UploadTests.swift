import Backends
import Configuration
import Crypto
import JSON
import Testing
import TransferModel

@testable import CometChatBackend

@Suite("Uploads")
struct UploadTests {
  private let content = OutgoingContent(size: 5, sha256: "aa", identity: "1")
  private static let sent = answer(#"{"data":{"id":"77"}}"#)

  /// A conversation up to the question for a place, whose answer comes next.
  private func begun(
    _ remote: CometChatRemote,
    _ spec: TransferSpec = sendSpec()
  ) throws -> any Backend {
    var upload = try remote.upload(spec)
    #expect(upload.next() == .content(.openSource))
    upload.receive(.sourceOpened(content))
    return upload
  }

  /// One whose bytes are stored and remembered.
  private func stored(
    _ remote: CometChatRemote,
    _ spec: TransferSpec = sendSpec()
  ) throws -> any Backend {
    var upload = try begun(remote, spec)
    _ = upload.next()
    upload.receive(.answered(id: 0, answer(#"{"data":{"t":\#(place())}}"#)))
    _ = upload.next()
    upload.receive(.answered(id: 0, HTTPResponse(status: 204)))
    #expect(upload.next() == .content(.verifySource))
    upload.receive(.sourceVerified)
    #expect(upload.next() == .content(.remember))
    upload.receive(.remembered)
    return upload
  }

  @Test("A file gets a place, then the form goes, then the message")
  func whole() throws {
    let remote = try remote()
    var upload = try begun(remote, sendSpec(parent: 9))
    let question = try #require(upload.next().request)
    #expect(question.path == "/v3.0/files/upload-url")
    #expect(
      question.text
        == #"{"files":{"t":{"fileId":"t","name":"a.png","size":5,"mimeType":"image/png"}},"#
        + #""receiver":"bob","receiverType":"user","parentId":9}"#
    )
    let asked = try remote.authorize(question, nowMs: 5)
    #expect(asked.header("appId") == "app1")
    #expect(asked.header("authToken") == "s3cr3t")
    #expect(asked.header("sdk") != nil)
    upload.receive(.answered(id: 0, answer(#"{"data":{"t":\#(place())}}"#)))

    let form = try #require(upload.next().request)
    #expect(form.url == "https://store.example.com/b")
    #expect(try remote.authorize(form, nowMs: 5) == form, "the storage gets nothing of ours")
    #expect(!form.isRepeatable)
    let key = try #require(form.text.firstRange(of: "name=\"key\""))
    let file = try #require(form.text.firstRange(of: "name=\"file\"; filename=\"a.png\""))
    #expect(key.lowerBound < file.lowerBound)
    #expect(form.text.contains("\r\n\r\n<0..<5>\r\n--"))
    #expect(upload.checkpoint == nil)
    upload.receive(.answered(id: 0, HTTPResponse(status: 204)))
    upload.receive(.sourceVerified)
    #expect(upload.checkpoint != nil)
    #expect(upload.unannounced?.name == "a.png")
    upload.receive(.remembered)

    let message = try #require(upload.next().request)
    #expect(message.path == "/v3.0/messages/9/thread")
    upload.receive(.answered(id: 0, Self.sent))
    guard case .done(.shared(let shared)) = upload.next() else {
      Issue.record("not done")
      return
    }
    #expect(shared.timetoken == Timetoken(77))
    #expect(shared.file.id == "app1/media/1_a.png")
    #expect(shared.file.sha256 == "aa")
    #expect(shared.url == "https://media.example.com/app1/media/1_a.png?Signature=s")
  }

  @Test("Without `data` around it the answer is as good")
  func bare() throws {
    var upload = try begun(remote())
    _ = upload.next()
    upload.receive(.answered(id: 0, answer(#"{"t":\#(place())}"#)))
    #expect(upload.next().request?.path == "/b")
  }

  @Test(
    "What a question for a place may come to",
    arguments: [
      (200, #"{"data":{"t":{"code":"ERR_X","message":"no"}}}"#, .presignedURLFailed, false, true),
      (200, #"{"data":{"t":{"message":"no"}}}"#, .presignedURLFailed, false, true),
      (200, #"{"data":{}}"#, .presignedURLFailed, true, false),
      (200, "<html>", .presignedURLFailed, true, false),
      (400, #"{"error":{"code":"ERR_BAD_REQUEST"}}"#, .presignedURLFailed, false, true),
      (403, #"{"error":{"code":"ERR_NOT_A_MEMBER"}}"#, .presignedURLFailed, false, true),
      (
        400, #"{"error":{"message":"presigned URLs are not enabled"}}"#, .presignedURLFailed, false,
        true
      ),
      (401, #"{"error":{"code":"AUTH_ERR_AUTH_TOKEN_NOT_FOUND"}}"#, .unauthenticated, false, false),
      (403, #"{"error":{"code":"ERR_PLAN_QUOTA_RESTRICTION"}}"#, .quotaExceeded, false, false),
      (
        200, #"{"t":{"request":{"url":"gopher://x"},"attachment":{"url":"https://a/b"}}}"#,
        .invalidURL, true, false
      ),
      (
        200, #"{"t":{"request":{"url":"https://a/b"},"attachment":{"url":"b"}}}"#, .invalidURL,
        true,
        false
      ),
    ] as [(Int, String, ErrorCode, Bool, Bool)]
  )
  func refused(
    _ status: Int,
    _ body: String,
    _ code: ErrorCode,
    _ isRetryable: Bool,
    _ rejects: Bool
  ) throws {
    var upload = try begun(remote())
    _ = upload.next()
    upload.receive(.answered(id: 0, answer(body, status)))
    let error = try #require(upload.next().error)
    #expect(error.code == code)
    #expect(error.isRetryable == isRetryable)
    #expect(error.rejects == rejects)
    #expect(error.phase == .prepare)
  }

  @Test("A question that got no answer can be asked again, and says why")
  func unanswered() throws {
    var upload = try begun(remote())
    _ = upload.next()
    upload.receive(.failed(id: 0, TransferError(.network, "gone")))
    let error = try #require(upload.next().error)
    #expect(error.code == .presignedURLFailed)
    #expect(error.isRetryable)
    #expect(error.cause == .init(code: .network))
  }

  private static func policy(_ text: String) -> String { Base64.encode(Array(text.utf8)) }

  @Test(
    "The policy tells deadline and sizes; where it does not, a quarter of an hour holds",
    arguments: [
      (nil, 900_000, nil),
      ("no JSON", 900_000, nil),
      (#"{"expiration":"1970-01-01T00:01:00.500Z","conditions":[]}"#, 60_000, nil),
      (#"{"conditions":[["eq","$key","k"],["content-length-range",1,9]]}"#, 900_000, 1...9),
      (#"{"conditions":[["content-length-range",9,1]]}"#, 900_000, nil),
      (#"{"expiration":"soon"}"#, 900_000, nil),
    ] as [(String?, Int64, ClosedRange<Int64>?)]
  )
  func policies(_ policy: String?, _ deadline: Int64, _ sizes: ClosedRange<Int64>?) throws {
    guard case .sendFile(let send) = sendSpec().operation else { return }
    let json = #"{"t":\#(place(policy: policy.map(Self.policy)))}"#
    let slot = try UploadSlot(
      JSONNode(parsing: Array(json.utf8)),
      fileID: "t",
      send: send,
      size: 5,
      nowMs: 0,
      secrets: []
    )
    #expect(slot.deadlineMs == deadline)
    #expect(slot.sizes == sizes)
  }

  @Test("A size outside the policy's is refused before a byte goes")
  func sizes() throws {
    let policy = Self.policy(#"{"conditions":[["content-length-range",6,9]]}"#)
    var upload = try begun(remote())
    _ = upload.next()
    upload.receive(.answered(id: 0, answer(#"{"t":\#(place(policy: policy))}"#)))
    #expect(upload.next().error?.code == .fileSizeExceeded)
  }

  @Test("A place is asked for again when it has expired, three times in all")
  func expired() throws {
    var upload = try begun(remote())
    let denied = HTTPResponse(
      status: 403,
      body: Array("<Error><Code>AccessDenied</Code><Message>Policy Expired.</Message></Error>".utf8)
    )
    for _ in 0..<3 {
      #expect(upload.next().request?.path == "/v3.0/files/upload-url")
      upload.receive(.answered(id: 0, answer(#"{"t":\#(place())}"#)))
      #expect(upload.next().request?.path == "/b")
      upload.receive(.answered(id: 0, denied))
    }
    #expect(upload.next().error?.code == .presignedURLExpired)
    upload.restart()
    #expect(upload.next() == .content(.openSource))
  }

  @Test("A failure of the storage may come after its answer has begun")
  func lateFailure() throws {
    var upload = try begun(try remote())
    _ = upload.next()
    upload.receive(.answered(id: 0, answer(#"{"data":{"t":\#(place())}}"#)))
    _ = upload.next()
    let fault = "<Error><Code>InternalError</Code><Message>sorry</Message></Error>"
    upload.receive(.answered(id: 0, answer(fault)))
    #expect(upload.next().error?.code == .s3UploadFailed)
    #expect(upload.unannounced == nil)
  }

  @Test("A refusal without words is an expiry once the deadline has passed")
  func silentExpiry() throws {
    var upload = try begun(remote())
    func date(_ minute: String) -> HTTPHeader {
      HTTPHeader("Date", "Thu, 01 Jan 1970 00:\(minute):00 GMT")
    }
    _ = upload.next()
    upload.receive(.answered(id: 0, answer(#"{"t":\#(place())}"#, 200, [date("10")])))
    _ = upload.next()
    upload.receive(.answered(id: 0, HTTPResponse(status: 403, headers: [date("26")])))
    #expect(upload.next().request?.path == "/v3.0/files/upload-url")
    upload.receive(.answered(id: 0, answer(#"{"t":\#(place())}"#, 200, [date("10")])))
    _ = upload.next()
    upload.receive(.answered(id: 0, HTTPResponse(status: 403, headers: [date("20")])))
    #expect(upload.next().error?.code == .s3UploadFailed)
  }

  @Test("A pause in the form asks for a new place; one in the question does not count")
  func interrupted() throws {
    var upload = try begun(remote())
    _ = upload.next()
    upload.receive(.interrupted(id: 0))
    _ = upload.next()
    upload.receive(.answered(id: 0, answer(#"{"t":\#(place())}"#)))
    _ = upload.next()
    upload.receive(.interrupted(id: 0))
    #expect(upload.next().request?.path == "/v3.0/files/upload-url")
  }

  @Test("A lost answer to a message is looked for, page by page, before it is sent again")
  func lost() throws {
    let remote = try remote()
    var upload = try stored(remote)
    let message = try #require(upload.next().request)
    upload.receive(.failed(id: 0, TransferError(.network, "gone")))
    let look = try #require(upload.next().request)
    #expect(look.path == "/v3.0/users/bob/messages")
    #expect(look.query == "limit=100&affix=prepend")
    let page = (200..<300).map { #"{"id":"\#($0)","data":{}}"# }.joined(separator: ",")
    upload.receive(.answered(id: 0, answer(#"{"data":[\#(page)]}"#)))
    #expect(upload.next().request?.query == "limit=100&affix=prepend&id=200")
    let muid = try #require(
      JSONNode(parsing: Array(message.text.utf8)).members().first {
        $0.key == "muid"
      }
    ).value.string()
    let mine = """
      {"id":150,"muid":"\(muid)","data":{"attachments":[{"url":"https://other.host/app1/media/1_a.png"}]}}
      """
    upload.receive(.answered(id: 0, answer(#"{"data":[\#(mine)]}"#)))
    guard case .done(.shared(let shared)) = upload.next() else {
      Issue.record("not done")
      return
    }
    #expect(shared.timetoken == Timetoken(150))
  }

  @Test(
    "What never left, or was refused for its pace, is sent again without a look",
    arguments: [(ErrorCode.rateLimited, nil), (.network, false)] as [(ErrorCode, Bool?)]
  )
  func surelyNotSent(_ code: ErrorCode, _ mayHaveArrived: Bool?) throws {
    var upload = try stored(remote())
    let message = upload.next().request
    var error = TransferError(code, "no")
    error.mayHaveArrived = mayHaveArrived
    upload.receive(.failed(id: 0, error))
    #expect(upload.next().request == message)
  }

  @Test("A refused message leaves the file, and a later process goes on with it")
  func recovered() throws {
    var upload = try stored(remote())
    _ = upload.next()
    let refusal = #"{"error":{"code":"ERR_BLOCKED_RECEIVER"}}"#
    upload.receive(.answered(id: 0, answer(refusal, 403)))
    let error = try #require(upload.next().error)
    #expect(error.code == .permissionDenied)
    #expect(error.phase == .publish)
    let checkpoint = try #require(upload.checkpoint)
    var later = try remote().upload(sendSpec())
    later.recover(checkpoint)
    #expect(later.next().request?.path == "/v3.0/users/bob/messages")
    later.receive(.answered(id: 0, answer(#"{"data":[]}"#)))
    #expect(later.next().request?.path == "/v3.0/messages")
    #expect(later.settled == 5)
  }

  @Test("A batch's file is done once it is stored")
  func unannounced() throws {
    var upload = try stored(remote(), sendSpec(announces: false))
    guard case .done(.shared(let shared)) = upload.next() else {
      Issue.record("not done")
      return
    }
    #expect(shared.timetoken == nil)
  }

  @Test("Empty files and those over the limit are refused once they are open")
  func limits() throws {
    let remote = try remote()
    for (size, code) in [(0, ErrorCode.fileDataEmpty), (104_857_601, .fileSizeExceeded)] {
      var upload = try remote.upload(sendSpec())
      _ = upload.next()
      upload.receive(.sourceOpened(OutgoingContent(size: Int64(size), identity: "1")))
      #expect(upload.next().error?.code == code)
    }
    var upload = try remote.upload(sendSpec())
    _ = upload.next()
    upload.receive(.sourceOpened(OutgoingContent(size: 104_857_600, identity: "1")))
    #expect(upload.next().request != nil)
  }
}
