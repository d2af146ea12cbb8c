import Backends
import Configuration
import Testing
import TransferModel

@testable import PubNubBackend

@Suite("Refusals")
struct FaultTests {
  @Test(
    "Every shape of an error is read",
    arguments: [
      (
        400,
        #"{"status":400,"error":{"message":"[channel] contains invalid characters","source":"Files","code":3001}}"#,
        .invalidArgument, "3001", "[channel] contains invalid characters"
      ),
      (
        402,
        #"{"status":402,"error":{"message":"Files service not enabled for subkey","source":"Files","code":3005}}"#,
        .unsupported, "3005", "Files service not enabled for subkey"
      ),
      (
        403,
        #"{"message":"Forbidden","payload":{"channels":["ch"]},"error":true,"service":"Access Manager","status":403}"#,
        .permissionDenied, "Access Manager", "Forbidden"
      ),
      (
        403,
        #"{"message":"Token is expired","error":true,"service":"Access Manager","status":403}"#,
        .unauthenticated, "Access Manager", "Token is expired"
      ),
      (
        400,
        #"{"message":"Invalid Subscribe Key","error":true,"service":"Access Manager","status":400}"#,
        .config, "Access Manager", "Invalid Subscribe Key"
      ),
      (
        414, #"{"message":"Request URI Too Long","error":true,"service":"Balancer","status":414}"#,
        .invalidArgument, "Balancer", "Request URI Too Long"
      ),
      (
        400,
        #"{"status":400,"error":true,"error_message":"Invalid Arguments: start","channels":{}}"#,
        .invalidArgument, nil, "Invalid Arguments: start"
      ),
      (400, #"[0,"Message Too Large","17"]"#, .invalidArgument, nil, "Message Too Large"),
      (400, #"[0,"Invalid Key","17"]"#, .config, nil, "Invalid Key"),
      (
        404,
        "<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code><Message>a &lt;b&gt; &amp;lt;</Message></Error>",
        .notFound, "NoSuchKey", "a <b> &lt;"
      ),
      (481, "{}", .invalidArgument, nil, nil), (500, "<html>", .server, nil, nil),
      (429, "", .rateLimited, nil, nil), (401, "null", .unauthenticated, nil, nil),
      (302, "[]", .server, nil, nil), (400, "[0]", .invalidArgument, nil, nil),
    ] as [(Int, String, ErrorCode, String?, String?)]
  )
  func shapes(
    _ status: Int,
    _ body: String,
    _ code: ErrorCode,
    _ serverCode: String?,
    _ serverMessage: String?
  ) {
    let error = remote().error(answer(body, status), doing: "do this")
    #expect(error.code == code)
    #expect(error.httpStatus == status)
    #expect(error.serverCode == serverCode)
    #expect(error.serverMessage == serverMessage)
  }

  @Test("The remote's words are bounded, in one line and without secrets")
  func words() throws {
    let remote = remote { $0.authToken = Secret("t0ken") }
    let long = String(repeating: "é", count: 2000)
    let error = remote.error(
      answer(#"{"message":"no t0ken\n\#(long)"}"#, 403),
      doing: "do this"
    )
    #expect(try #require(error.serverMessage).utf8.count <= 1027)
    #expect(try #require(error.serverMessage).hasPrefix("no (secret) é"))
    #expect(!error.message.contains("t0ken"))
  }

  @Test("Codes and services of any length are bounded")
  func longWords() throws {
    let long = String(repeating: "x", count: 10_000)
    for body in [
      #"{"error":{"message":"m","source":"s","code":"\#(long)"}}"#,
      #"{"error":{"message":"m","code":{"a":"\#(long)"}}}"#,
      #"{"message":"m","service":"\#(long)"}"#,
    ] {
      let error = remote().error(answer(body, 400), doing: "do this")
      #expect(try #require(error.serverCode).count <= 128)
      #expect(error.message.count < 400)
    }
  }

  @Test("What may succeed later is asked again, what is refused is not")
  func judging() {
    let remote = remote()
    let call = remote.deleteRequest(channel: "c", id: "i", name: "n")
    for status in [200, 307, 400, 403, 404, 414, 481] {
      #expect(remote.judge(answer("{}", status), to: call, nowMs: 0) == .accept)
    }
    for status in [500, 502, 503, 504] {
      let verdict = remote.judge(answer("", status), to: call, nowMs: 0)
      guard case .retry(_, after: nil, isThrottled: false) = verdict else {
        Issue.record("\(status) is not asked again")
        return
      }
    }
    let limited = answer("", 429, [HTTPHeader("Retry-After", "3")])
    let verdict = remote.judge(limited, to: call, nowMs: 0)
    guard case .retry(let error, after: .seconds(3), isThrottled: true) = verdict else {
      Issue.record("429 is not asked again after what it says")
      return
    }
    #expect(error.retryAfterMs == 3000)
  }
}
