import Backends
import Configuration
import Testing
import TransferModel

@testable import S3Backend

@Suite("What a remote makes of requests and answers")
struct S3RemoteTests {
  private let get = HTTPRequest(.get, origin: "http://127.0.0.1:9000", path: "/b/k")

  private func header(_ request: HTTPRequest, _ name: String) -> String? { request.header(name) }

  @Test("A request is signed with time, payload and token; again from the start each time")
  func authorize() throws {
    let remote = makeRemote {
      $0.credentials = .init(
        accessKeyID: Secret("AKID"),
        secretAccessKey: Secret("s"),
        sessionToken: Secret("tok")
      )
      $0.region = "eu-west-1"
    }
    var request = get
    request.headers = [HTTPHeader("Range", "bytes=0-1")]
    let signed = try remote.authorize(request, nowMs: now)
    #expect(signed.header("x-amz-date") == "20150830T123600Z")
    #expect(signed.header("x-amz-security-token") == "tok")
    #expect(signed.header("x-amz-content-sha256")?.hasPrefix("e3b0c442") == true)
    let authorization = try #require(signed.header("authorization"))
    #expect(authorization.contains("Credential=AKID/20150830/eu-west-1/s3/aws4_request"))
    #expect(
      authorization.contains(
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token,"
      )
    )
    #expect(try remote.authorize(signed, nowMs: now) == signed)
    let later = try remote.authorize(signed, nowMs: now + 86_400_000)
    #expect(later.header("authorization")?.contains("/20150831/") == true)
    #expect(later.headers.count == signed.headers.count)
  }

  @Test("Bodies in memory are hashed, contents are not")
  func payload() throws {
    let remote = makeRemote()
    var request = get
    request.body = [.bytes(Array("ab".utf8)), .bytes(Array("c".utf8))]
    #expect(
      try remote.authorize(request, nowMs: now).header("x-amz-content-sha256")
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
    request.body = [.source(0..<3)]
    #expect(
      try remote.authorize(request, nowMs: now).header("x-amz-content-sha256")
        == "UNSIGNED-PAYLOAD"
    )
  }

  @Test("Without credentials nothing is sent, and the error says where they are looked for")
  func noCredentials() throws {
    let remote = makeRemote { $0.credentials = nil }
    let error = try #require(throws: TransferError.self) { try remote.authorize(get, nowMs: now) }
    #expect(error.code == .unauthenticated)
    #expect(error.message.contains("AWS_ACCESS_KEY_ID"))
    #expect(error.message.contains("remote/credentials"))
    var given = RemoteCredentials()
    given.accessKeyID = "NEW"
    given.secretAccessKey = "s"
    try remote.replaceCredentials(by: given)
    let signed = try remote.authorize(get, nowMs: now)
    #expect(signed.header("authorization")?.contains("Credential=NEW/") == true)
    given.idToken = "t"
    #expect(throws: TransferError.self) { try remote.replaceCredentials(by: given) }
  }

  struct Verdict: Sendable, CustomTestStringConvertible {
    var response: HTTPResponse
    var isRetried: Bool
    var isThrottled = false
    var after: Duration?
    var testDescription: String
  }

  static let verdicts: [Verdict] = [
    .init(response: answer(200), isRetried: false, testDescription: "200"),
    .init(response: answer(304), isRetried: false, testDescription: "304"),
    .init(response: fault(404, "NoSuchKey"), isRetried: false, testDescription: "404"),
    .init(response: fault(412, "PreconditionFailed"), isRetried: false, testDescription: "412"),
    .init(response: fault(403, "AccessDenied"), isRetried: false, testDescription: "403"),
    .init(response: fault(416, "InvalidRange"), isRetried: false, testDescription: "416"),
    .init(response: fault(400, "InvalidPart"), isRetried: false, testDescription: "InvalidPart"),
    .init(response: fault(501, "NotImplemented"), isRetried: false, testDescription: "501"),
    .init(response: fault(400, "EntityTooLarge"), isRetried: false, testDescription: "too large"),
    .init(response: answer(408), isRetried: true, testDescription: "408"),
    .init(response: answer(500), isRetried: true, testDescription: "500"),
    .init(response: answer(502, [:], "<html>bad"), isRetried: true, testDescription: "502"),
    .init(response: answer(504), isRetried: true, testDescription: "504"),
    .init(response: fault(400, "RequestTimeout"), isRetried: true, testDescription: "timeout"),
    .init(response: fault(400, "BadDigest"), isRetried: true, testDescription: "BadDigest"),
    .init(response: fault(400, "IncompleteBody"), isRetried: true, testDescription: "incomplete"),
    .init(response: fault(409, "OperationAborted"), isRetried: true, testDescription: "aborted"),
    .init(
      response: fault(200, "InternalError"),
      isRetried: false,
      testDescription: "an object that looks like an error"
    ),
    .init(response: answer(429), isRetried: true, isThrottled: true, testDescription: "429"),
    .init(
      response: fault(503, "SlowDown", "", ["Retry-After": "7"]),
      isRetried: true,
      isThrottled: true,
      after: .seconds(7),
      testDescription: "Retry-After"
    ),
    .init(
      response: fault(503, "SlowDown", "", ["x-amz-retry-after": "250", "Retry-After": "7"]),
      isRetried: true,
      isThrottled: true,
      after: .milliseconds(250),
      testDescription: "x-amz-retry-after"
    ),
    .init(
      response: fault(
        503,
        "SlowDown",
        "",
        ["Retry-After": "Sun, 30 Aug 2015 12:36:09 GMT", "Date": "Sun, 30 Aug 2015 12:36:00 GMT"]
      ),
      isRetried: true,
      isThrottled: true,
      after: .seconds(9),
      testDescription: "Retry-After as a date"
    ),
    .init(
      response: fault(503, "SlowDown", "", ["Retry-After": "86400"]),
      isRetried: true,
      isThrottled: true,
      after: .seconds(300),
      testDescription: "Retry-After that is too long"
    ),
  ]

  @Test("Answers by their class", arguments: verdicts)
  func judged(_ expected: Verdict) {
    switch makeRemote().judge(expected.response, to: get, nowMs: now) {
    case .accept: #expect(!expected.isRetried)
    case .retry(let error, let after, let isThrottled):
      #expect(expected.isRetried)
      #expect(error.isRetryable)
      #expect(after == expected.after)
      #expect(isThrottled == expected.isThrottled)
    case .amend(let error): Issue.record("amended: \(error)")
    }
  }

  @Test("Completing and copying succeed only with a parsed result")
  func results() {
    let remote = makeRemote()
    var complete = get
    complete.method = .post
    complete.query = "uploadId=u"
    var copy = get
    copy.method = .put
    copy.headers = [HTTPHeader("x-amz-copy-source", "/b/k")]
    for request in [complete, copy] {
      guard
        case .retry(let error, _, true) =
          remote.judge(fault(200, "SlowDown"), to: request, nowMs: now),
        error.code == .rateLimited
      else {
        Issue.record("\(request.method) with an error")
        continue
      }
      #expect(remote.judge(fault(200, "AccessDenied"), to: request, nowMs: now) == .accept)
      for body in ["", "  \n", "<html/>", "<CopyObj"] {
        guard case .retry = remote.judge(answer(200, [:], body), to: request, nowMs: now) else {
          Issue.record("\(request.method) \(body)")
          continue
        }
      }
    }
    let completed =
      "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"
    #expect(remote.judge(answer(200, [:], completed), to: complete, nowMs: now) == .accept)
    #expect(remote.judge(answer(200, [:], "<CopyObjectResult/>"), to: copy, nowMs: now) == .accept)
  }

  @Test("A conflict of conditions is tried again for a PUT, and not for a completion")
  func conflict() {
    let remote = makeRemote()
    var put = get
    put.method = .put
    let conflict = fault(409, "ConditionalRequestConflict")
    guard case .retry = remote.judge(conflict, to: put, nowMs: now) else {
      Issue.record("not tried again")
      return
    }
    var complete = get
    complete.method = .post
    complete.query = "uploadId=u"
    #expect(remote.judge(conflict, to: complete, nowMs: now) == .accept)
  }

  @Test(
    "A clock that is off is learned once, from any refusal",
    arguments: [
      fault(403, "RequestTimeTooSkewed", "", ["Date": "Sun, 30 Aug 2015 13:36:00 GMT"]),
      answer(403, ["Date": "Sun, 30 Aug 2015 13:36:00 GMT"]),
      fault(400, "AccessDenied", "", ["Date": "Sun, 30 Aug 2015 13:36:00 GMT"]),
    ]
  )
  func clock(_ response: HTTPResponse) throws {
    let remote = makeRemote()
    guard case .amend = remote.judge(response, to: get, nowMs: now) else {
      Issue.record("not amended")
      return
    }
    #expect(try remote.authorize(get, nowMs: now).header("x-amz-date") == "20150830T133600Z")
    #expect(remote.judge(response, to: get, nowMs: now) == .accept)
    let url = try remote.presigned("k", seconds: 60, nowMs: now)
    #expect(url.url.contains("X-Amz-Date=20150830T133600Z"))
  }

  @Test("A refusal within minutes of the clock is a refusal")
  func clockIsRight() {
    let response = fault(403, "AccessDenied", "", ["Date": "Sun, 30 Aug 2015 12:40:00 GMT"])
    #expect(makeRemote().judge(response, to: get, nowMs: now) == .accept)
  }

  @Test(
    "Another region is learned from header or body, and AWS is asked there",
    arguments: [
      fault(301, "PermanentRedirect", "", ["x-amz-bucket-region": "eu-west-1"]),
      answer(400, ["x-amz-bucket-region": "eu-west-1"]),
      fault(400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"),
      fault(307, "TemporaryRedirect", "<Endpoint>bkt.s3.eu-west-1.amazonaws.com</Endpoint>"),
      answer(307, ["Location": "https://bkt.s3.eu-west-1.amazonaws.com/k?x"]),
    ]
  )
  func region(_ response: HTTPResponse) throws {
    let remote = makeRemote {
      $0.endpoint = nil
      $0.provider = .auto
      $0.bucket = "bkt"
    }
    let before = try remote.authorize(remote.request(.get, "k"), nowMs: now)
    #expect(before.origin == "https://bkt.s3.us-east-1.amazonaws.com")
    guard case .amend = remote.judge(response, to: before, nowMs: now) else {
      Issue.record("not amended")
      return
    }
    let after = try remote.authorize(remote.request(.get, "k"), nowMs: now)
    #expect(after.origin == "https://bkt.s3.eu-west-1.amazonaws.com")
    #expect(remote.judge(response, to: after, nowMs: now) == .accept)
  }

  @Test("Other servers only change what is signed for, and nobody is followed elsewhere")
  func regionElsewhere() throws {
    let remote = makeRemote()
    let malformed = fault(400, "AuthorizationHeaderMalformed", "<Region>home</Region>")
    guard case .amend = remote.judge(malformed, to: get, nowMs: now) else {
      Issue.record("not amended")
      return
    }
    let signed = try remote.authorize(get, nowMs: now)
    #expect(signed.origin == "http://127.0.0.1:9000")
    #expect(signed.header("authorization")?.contains("/home/s3/") == true)
    let moved = answer(307, ["Location": "https://evil.example.com/b/k"])
    #expect(remote.judge(moved, to: get, nowMs: now) == .accept)
    let aws = makeRemote { $0.endpoint = nil }
    #expect(aws.judge(moved, to: get, nowMs: now) == .accept)
    #expect(aws.endpoint.origin == "https://s3.us-east-1.amazonaws.com")
  }

  @Test("A region that would say more in a header or a host's name is none")
  func badRegion() {
    for region in ["a.evil.example/", "a\r\nb: c", "", "a b"] {
      let remote = makeRemote()
      let malformed = fault(400, "AuthorizationHeaderMalformed", "<Region>\(region)</Region>")
      #expect(remote.judge(malformed, to: get, nowMs: now) == .accept)
    }
  }

  @Test("Keys that ended are read anew from AWS's files, and a host's own are not replaced")
  func reload() throws {
    let files = ["/h/.aws/credentials": "[default]\naws_access_key_id=NEW\naws_secret_access_key=s"]
    let expired = fault(400, "ExpiredToken")
    let environment = ["HOME": "/h"]
    let fixed = makeRemote(environment: environment, files: files)
    #expect(fixed.judge(expired, to: get, nowMs: now) == .accept)
    let fromFile = makeRemote(environment: environment, files: files) { $0.credentials = nil }
    #expect(fromFile.judge(expired, to: get, nowMs: now) == .accept, "the same keys as before")
    var given = RemoteCredentials()
    given.accessKeyID = "HOST"
    given.secretAccessKey = "s"
    try fromFile.replaceCredentials(by: given)
    #expect(fromFile.judge(expired, to: get, nowMs: now) == .accept)
  }

  @Test(
    "Failures have the code that fits, the server's words and its status",
    arguments: [
      (fault(404, "NoSuchKey"), .notFound, false), (answer(404), .notFound, false),
      (fault(404, "NoSuchBucket"), .config, false),
      (fault(403, "AccessDenied"), .permissionDenied, false),
      (answer(403), .permissionDenied, false),
      (fault(403, "SignatureDoesNotMatch"), .unauthenticated, false),
      (fault(403, "InvalidAccessKeyId"), .unauthenticated, false),
      (fault(400, "ExpiredToken"), .unauthenticated, false),
      (fault(403, "RequestTimeTooSkewed"), .unauthenticated, false),
      (answer(401), .unauthenticated, false),
      (fault(412, "PreconditionFailed"), .preconditionFailed, false),
      (fault(400, "EntityTooLarge"), .fileSizeExceeded, false),
      (answer(413), .fileSizeExceeded, false), (answer(507), .quotaExceeded, false),
      (fault(507, "XMinioStorageFull"), .quotaExceeded, false),
      (fault(503, "SlowDown"), .rateLimited, true), (answer(429), .rateLimited, true),
      (fault(500, "InternalError"), .server, true), (answer(502), .server, true),
      (fault(400, "BadDigest"), .checksumMismatch, true),
      (fault(501, "NotImplemented"), .unsupported, false), (answer(405), .unsupported, false),
      (fault(400, "KeyTooLongError"), .invalidReference, false),
      (fault(400, "InvalidRequest"), .unknown, false), (answer(301), .config, false),
      (fault(404, "NoSuchUpload"), .server, false),
    ] as [(HTTPResponse, ErrorCode, Bool)]
  )
  func codes(_ response: HTTPResponse, _ code: ErrorCode, _ isRetryable: Bool) throws {
    let error = makeRemote().error(try #require(S3Fault(response)), "do this to")
    #expect(error.code == code)
    #expect(error.isRetryable == isRetryable)
    #expect(error.httpStatus == response.status)
    #expect(error.message.hasPrefix("Cannot do this to s3://b at http://127.0.0.1:9000: "))
  }

  @Test("A server's words are kept short, on one line and without keys")
  func redaction() throws {
    let words = "no AKID, no hunter2\nnew line \(String(repeating: "x", count: 5000))"
    let response = fault(403, "SignatureDoesNotMatch", "<Message>\(words)</Message>")
    let remote = makeRemote()
    var others = RemoteCredentials()
    (others.accessKeyID, others.secretAccessKey) = ("OTHER", "another")
    // Requests with the old ones may be under way.
    try remote.replaceCredentials(by: others)
    let error = remote.error(try #require(S3Fault(response)), "do this to")
    let message = try #require(error.serverMessage)
    #expect(message.hasPrefix("no (secret), no (secret) new line xxx"))
    #expect(message.utf8.count <= 1024)
    #expect(!"\(error)".contains("hunter2"))
  }

  @Test("An outcome is named without what it carries")
  func outcomes() {
    #expect(StepOutcome.answered(id: 1, answer(200, [:], "s")).name == "answered")
    #expect(StepOutcome.recovered(.nothing).name == "recovered")
    #expect(StepOutcome.remembered.name == "remembered")
  }

  @Test(
    "The time is learned from answers within a day, not from failures, and a wrong one is not kept",
    arguments: [
      (200, "Sun, 30 Aug 2015 13:36:00 GMT", 3_600_500), (200, "Sun, 30 Aug 2015 12:36:01 GMT", 0),
      (200, "Sun, 30 Aug 2999 12:36:00 GMT", 0), (200, "Fri, 28 Aug 2015 12:36:00 GMT", 0),
      (502, "Sun, 30 Aug 2015 13:36:00 GMT", 0), (404, "Sun, 30 Aug 2015 13:36:00 GMT", 3_600_500),
    ] as [(Int, String, Int64)]
  )
  func time(_ status: Int, _ date: String, _ offset: Int64) {
    let remote = makeRemote()
    let right = answer(200, ["Date": "Sun, 30 Aug 2015 12:36:00 GMT"])
    _ = remote.judge(right, to: remote.probe, nowMs: now)
    _ = remote.judge(answer(status, ["Date": date]), to: remote.probe, nowMs: now)
    #expect(remote.serverNowMs == now + offset)
    let first = remote.nextTimetoken()
    #expect(first < remote.nextTimetoken())
    _ = remote.judge(right, to: remote.probe, nowMs: now)
    #expect(abs(remote.nextTimetoken().value / 10_000 - now) <= 1)
  }

  @Test("Dumping a remote shows no secret")
  func dumping() {
    var text = ""
    dump(makeRemote(), to: &text)
    #expect(!text.contains("hunter2"))
    #expect(!text.contains("AKID"))
  }
}

@Suite("Credentials of AWS's own tools")
struct AWSProfileTests {
  private static let files = [
    "/h/.aws/credentials": """
    # a comment
    [default]
    aws_access_key_id = DEFAULT
    aws_secret_access_key=a=b
    [ work ]
    aws_access_key_id=WORK
    aws_secret_access_key=w
    aws_session_token = tok
    s3 =
      aws_access_key_id = nested
    [half]
    aws_access_key_id=HALF
    [odd]
    aws_access_key_id=a b
    aws_secret_access_key=c
    """,
    "/h/.aws/config": "[default]\nregion = eu-west-1\n[profile work]\nregion=eu-north-1\n",
    "/elsewhere": "[default]\r\naws_access_key_id=ELSE\r\naws_secret_access_key=e\r\n",
  ]

  private func profile(_ environment: [String: String], _ name: String? = nil) -> AWSProfile {
    AWSProfile(environment: environment.merging(["HOME": "/h"]) { a, _ in a }, profile: name) {
      Self.files[$0].map { Array($0.utf8) }
    }
  }

  @Test(
    "Variables, then the file they name, then the one at home",
    arguments: [
      (["AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "e"], nil, "ENV", "e", nil),
      (["AWS_ACCESS_KEY_ID": "ENV"], nil, "DEFAULT", "a=b", nil),
      (["AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "e"], "work", "WORK", "w", "tok"),
      (["AWS_PROFILE": "work"], nil, "WORK", "w", "tok"),
      (["AWS_PROFILE": "half"], nil, nil, nil, nil), (["AWS_PROFILE": "odd"], nil, nil, nil, nil),
      (["AWS_PROFILE": "none"], nil, nil, nil, nil), (["HOME": "/x"], nil, nil, nil, nil),
      (["AWS_SHARED_CREDENTIALS_FILE": "/elsewhere"], nil, "ELSE", "e", nil),
    ] as [([String: String], String?, String?, String?, String?)]
  )
  func credentials(
    _ environment: [String: String],
    _ name: String?,
    _ id: String?,
    _ key: String?,
    _ token: String?
  ) {
    let found = profile(environment, name).credentials()
    #expect(found?.accessKeyID.text == id)
    #expect(found?.secretAccessKey.text == key)
    #expect(found?.sessionToken?.text == token)
  }

  @Test("A region is looked for in the same way")
  func region() {
    #expect(profile([:]).region() == "eu-west-1")
    #expect(profile([:], "work").region() == "eu-north-1")
    #expect(profile(["AWS_REGION": "a", "AWS_DEFAULT_REGION": "b"]).region() == "a")
    #expect(profile(["AWS_DEFAULT_REGION": "b"]).region() == "b")
    #expect(profile(["HOME": "/x"]).region() == nil)
    #expect(profile(["AWS_CONFIG_FILE": "/h/.aws/config"], "work").region() == "eu-north-1")
  }

  @Test("A file that cannot be read is none")
  func missingFile() {
    #expect(AWSProfile.readFile("/nowhere/at/all") == nil)
  }
}
