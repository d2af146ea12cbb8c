import JSON
@testable import JSONRPC
import Testing

@Suite struct `Calls in flight` {
  static func hold(_ id: String) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"hold"}"# + "\n"
  }

  static func cancel(_ id: String, _ method: String = "$/cancelRequest") -> String {
    #"{"jsonrpc":"2.0","method":"\#(method)","params":{"id":\#(id)}}"# + "\n"
  }

  static func result(_ id: String, _ text: String = "{}") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"result":\#(text)}"#
  }

  static let ping = ProtocolTests.ping("0") + "\n"
  static let pong = ProtocolTests.pong("0")

  static let cancelled =
    #"{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"The request was cancelled","#
    + #""data":{"code":"ERR_CANCELLED","retryable":false}}}"#

  static let empty = RawJSON(validated: Array("{}".utf8))

  @Test func `an id in flight is refused, is kept, and is free once its reply is out`() throws {
    let host = TestHost()
    host.send(Self.hold("1"))
    let call = try #require(host.held.take(1).first)
    host.send(Self.hold("1") + Self.hold(#""1""#))
    #expect(
      host.line()
        == ProtocolTests.refused("null", -32600, "Invalid request: the id 1 is in flight already")
    )
    let other = try #require(host.held.take(1).first)
    #expect(host.connection.inFlightCount == 2)
    // What is no request but carries that id must not look like its reply.
    host.send(#"{"id":1}"# + "\n")
    #expect(host.line() == ProtocolTests.refused("null", -32600, ProtocolTests.badVersion))
    call.succeed(Self.empty)
    #expect(host.line() == Self.result("1"))
    host.send(Self.hold("1"))
    host.held.take(1).first?.succeed(Self.empty)
    other.succeed(Self.empty)
    #expect(host.line() == Self.result("1"))
    #expect(host.line() == Self.result(#""1""#))
    #expect(host.connection.inFlightCount == 0)
  }

  @Test func `of many answers at once exactly one goes out`() {
    let host = TestHost()
    for round in 0..<200 {
      host.send(Self.hold("\(round)"))
      for call in host.held.take(1) {
        for thread in 0..<4 {
          DedicatedThread.start("answer") {
            thread % 2 == 0 ? call.succeed(Self.empty) : call.fail(.cancelled)
          }
        }
      }
      #expect(host.line()?.contains(#""id":\#(round),"#) == true)
    }
    host.send(Self.ping)
    #expect(host.line() == Self.pong)
    #expect(host.finish() == [])
  }

  @Test func `a call that is let go is answered with an internal error`() {
    let host = TestHost()
    host.send(Self.hold("1"))
    _ = host.held.take(1)
    #expect(
      host.line()
        == ProtocolTests.refused("1", -32603, "Internal error: the method ended without an answer")
    )
    #expect(host.connection.inFlightCount == 0)
  }

  @Test(arguments: ["$/cancelRequest", "$/cancel_request"])
  func `a cancel reaches the running request, which still gets its one reply`(_ name: String) throws
  {
    let host = TestHost()
    host.send(Self.hold("1"))
    let call = try #require(host.held.take(1).first)
    let runs = Monitor(0)
    call.onCancel { [weak call] in
      runs.change { $0 += 1 }
      call?.fail(.cancelled)
    }
    host.send(Self.cancel("1", name) + Self.cancel("1", name) + Self.ping)
    #expect(host.line() == Self.cancelled)
    #expect(host.line() == Self.pong)
    #expect(runs.withLock { $0 } == 1)
  }

  @Test func `a cancel before the handler is there is not lost`() throws {
    let host = TestHost()
    host.send(Self.hold("1") + Self.cancel("1") + Self.ping)
    #expect(host.line() == Self.pong)
    let call = try #require(host.held.take(1).first)
    #expect(call.isCancelled)
    call.onCancel { [weak call] in call?.fail(.cancelled) }
    #expect(host.line() == Self.cancelled)
  }

  @Test func `a cancelled request may still give its result`() throws {
    let host = TestHost()
    host.send(Self.hold("1") + Self.cancel("1") + Self.ping)
    #expect(host.line() == Self.pong)
    host.held.take(1).first?.succeed(Self.empty)
    #expect(host.finish() == [Self.result("1")])
  }

  @Test(arguments: [
    cancel("1"), cancel("7"), cancel(#""1""#), cancel("null"), cancel("{}"),
    #"{"jsonrpc":"2.0","method":"$/cancelRequest"}"# + "\n",
    #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":[1]}"# + "\n",
    #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{}}"# + "\n",
  ])
  func `a late, unknown or malformed cancel is silent`(_ line: String) throws {
    let host = TestHost()
    host.send(Self.hold("1"))
    let call = try #require(host.held.take(1).first)
    let runs = Monitor(0)
    call.onCancel { runs.change { $0 += 1 } }
    call.succeed(Self.empty)
    #expect(host.line() == Self.result("1"))
    host.send(line + Self.ping)
    #expect(host.finish() == [Self.pong])
    #expect(runs.withLock { $0 } == 0)
  }

  @Test func `a handler is let go with the answer`() throws {
    final class Token: Sendable {}
    let host = TestHost()
    host.send(Self.hold("1"))
    let call = try #require(host.held.take(1).first)
    weak var token: Token?
    do {
      let strong = Token()
      token = strong
      call.onCancel { withExtendedLifetime(strong) {} }
    }
    #expect(token != nil)
    call.succeed(Self.empty)
    #expect(token == nil)
  }

  @Test func `all requests can be cancelled and waited for`() {
    let host = TestHost()
    host.send((0..<100).map { Self.hold("\($0)") }.joined())
    let calls = host.held.take(100)
    for call in calls { call.onCancel { [weak call] in call?.fail(.cancelled) } }
    #expect(host.connection.inFlightCount == 100)
    #expect(!host.connection.waitUntilAnswered(until: .now))
    host.connection.cancelAll()
    #expect(host.connection.waitUntilAnswered(until: .now + .seconds(10)))
    #expect(host.finish().count == 100)
  }

  @Test func `more than the allowed number in flight is refused, except what is always served`() {
    var limits = Connection.Limits()
    limits.maxInFlight = 2
    let host = TestHost(limits: limits)
    host.send(Self.hold("1") + Self.hold("2") + Self.hold("3"))
    #expect(
      host.line()
        == #"{"jsonrpc":"2.0","id":3,"error":{"code":1702,"message":"Too many requests are in flight; "#
        + #"wait for replies and try again","data":{"code":"ERR_OVERLOADED","retryable":true,"#
        + #""retryAfterMs":250}}}"#
    )
    host.send(#"{"jsonrpc":"2.0","id":4,"method":"forget"}"# + "\n")
    #expect(host.line()?.contains("-32603") == true)
    for call in host.held.take(2) { call.succeed(Self.empty) }
    #expect(host.line() == Self.result("1"))
    #expect(host.line() == Self.result("2"))
    host.send(Self.ping)
    #expect(host.line() == Self.pong)
  }

  @Test func `a batch is answered when its last member is`() throws {
    let host = TestHost()
    let members = [Self.hold("1"), Self.ping, Self.hold("2"), #"{"jsonrpc":"2.0","method":"x"}"#]
    host.send("[" + members.map { String($0.filter { $0 != "\n" }) }.joined(separator: ",") + "]\n")
    let calls = host.held.take(2)
    host.send(ProtocolTests.ping("9") + "\n" + Self.ping)
    #expect(host.line() == ProtocolTests.pong("9"))
    // Its reply waits for the others, so the id is not yet free.
    #expect(
      host.line()
        == ProtocolTests.refused("null", -32600, "Invalid request: the id 0 is in flight already")
    )
    calls[1].succeed(Self.empty)
    calls[0].fail(.cancelled)
    #expect(host.line() == "[\(Self.pong),\(Self.result("2")),\(Self.cancelled)]")
    #expect(host.connection.inFlightCount == 0)
    host.send(Self.ping)
    #expect(host.line() == Self.pong)
  }
}
