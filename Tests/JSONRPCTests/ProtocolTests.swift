import JSON
@testable import JSONRPC
import Testing

/// Lines sent and lines expected; the input ends after them.
@Suite("JSON-RPC on the wire") struct ProtocolTests {
  static func refused(_ id: String, _ code: Int, _ message: String) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"error":{"code":\#(code),"message":"\#(message)"}}"#
  }

  static func pong(_ id: String) -> String { #"{"jsonrpc":"2.0","id":\#(id),"result":{}}"# }

  static func ping(_ id: String) -> String { #"{"jsonrpc":"2.0","id":\#(id),"method":"ping"}"# }

  static let notObject = refused("null", -32600, "Invalid request: expected an object")
  static let badVersion = #"Invalid request: `jsonrpc` must be \"2.0\""#
  static let badMethod = "Invalid request: `method` must be a string"
  static let badID = "Invalid request: `id` must be an integer or a string of at most 1024 bytes"
  static let badParams = "Invalid request: `params` must be an object"

  static let table: [(String, [String])] = [
    // Malformed JSON, and the next line works
    (
      "{\"jsonrpc\n" + ping("1"),
      [
        refused("null", -32700, "Parse error: a string is not closed (at byte 9)"), pong("1"),
      ]
    ),
    (
      "[" + ping("1") + ",\n",
      [
        refused("null", -32700, "Parse error: the text ends early (at byte 42)")
      ]
    ),
    ("\u{0}\n", [refused("null", -32700, "Parse error: expected a JSON value (at byte 0)")]),
    // Valid JSON, not a request
    ("1", [notObject]), (#""x""#, [notObject]), ("null", [notObject]),
    ("{}", [refused("null", -32600, badVersion)]),
    (#"{"id":7}"#, [refused("7", -32600, badVersion)]),
    (#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, [refused(#""a""#, -32600, badVersion)]),
    (#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, [refused("1", -32600, badVersion)]),
    (#"{"jsonrpc":"2.0","id":1}"#, [refused("1", -32600, badMethod)]),
    (#"{"jsonrpc":"2.0","id":1,"method":5}"#, [refused("1", -32600, badMethod)]),
    (#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#, [refused("null", -32600, badMethod)]),
    // Batches
    ("[]", [refused("null", -32600, "Invalid request: the batch is empty")]),
    ("[1,2,3]", ["[\(notObject),\(notObject),\(notObject)]"]),
    (#"[{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0","method":"nope"}]"#, []),
    (#"[{"jsonrpc":"2.0","id":1,"result":0}]"#, []),
    ("[\(ping("1")),\(ping("\"1\""))]", ["[\(pong("1")),\(pong("\"1\""))]"]),
    (
      "[\(ping("1")),\(ping("1"))]\n\(ping("1"))",
      [
        "[\(pong("1")),\(refused("null", -32600, "Invalid request: the id 1 is in flight already"))]",
        pong("1"),
      ]
    ),
    ("[[\(ping("1"))]]", ["[\(notObject)]"]),
    // Notifications are never answered
    (#"{"jsonrpc":"2.0","method":"nope"}"#, []),
    (#"{"jsonrpc":"2.0","method":"echo","params":{"wrong":1}}"#, []),
    (#"{"jsonrpc":"2.0","method":"echo","params":[1]}"#, []),
    // Ids
    (ping("0"), [pong("0")]), (ping("-1"), [pong("-1")]),
    (ping("9007199254740993"), [pong("9007199254740993")]),
    (ping("9223372036854775808"), [pong("9223372036854775808")]),
    (ping(#""\u0061\/é""#), [pong(#""\u0061\/é""#)]),
    (ping("1") + "\n" + ping(#""1""#), [pong("1"), pong(#""1""#)]),
    (ping("null"), [refused("null", -32600, badID)]),
    (ping("1.5"), [refused("null", -32600, badID)]),
    (ping("1.0"), [refused("null", -32600, badID)]),
    (ping("{}"), [refused("null", -32600, badID)]),
    (ping("\"\(String(repeating: "x", count: 1023))\""), [refused("null", -32600, badID)]),
    // Params
    (#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#, [pong("1")]),
    (#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, [pong("1")]),
    (#"{"jsonrpc":"2.0","id":1,"method":"ping","params":5}"#, [refused("1", -32600, badParams)]),
    (#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#, [refused("1", -32600, badParams)]),
    // Duplicate keys of the envelope; other members are ignored
    (
      #"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
      [
        refused("null", -32600, "Invalid request: `id` is given twice")
      ]
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"echo"}"#,
      [
        refused("null", -32600, "Invalid request: `method` is given twice")
      ]
    ),
    (#"{"x":1,"jsonrpc":"2.0","x":[],"method":"ping","id":1}"#, [pong("1")]),
    // Responses are ignored
    (#"{"jsonrpc":"2.0","id":1,"result":null}"#, []), (#"{"id":1,"error":{"code":1}}"#, []),
    // Results
    (#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#, [#"{"jsonrpc":"2.0","id":1,"result":null}"#]),
    (
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{\"value\":[1.50,\"\u{2028}😀\"]}}",
      [
        #"{"jsonrpc":"2.0","id":1,"result":[1.50,"\u2028😀"]}"#
      ]
    ),
    // Methods and their params
    (
      #"{"jsonrpc":"2.0","id":1,"method":"pnig"}"#,
      [
        refused("1", -32601, "Method not found: `pnig`; did you mean `ping`?")
      ]
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"rpc.nothing"}"#,
      [
        refused("1", -32601, "Method not found: `rpc.nothing`")
      ]
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"forget"}"#,
      [
        refused("1", -32603, "Internal error: the method ended without an answer")
      ]
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"vlaue":1}}"#,
      [
        #"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: /vlaue is not a "#
          + #"parameter; did you mean `value`? (known: value)","data":{"code":"ERR_INVALID_ARGUMENT","#
          + #""retryable":false,"field":"/vlaue"}}}"#
      ]
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"hold","params":{"channel":5}}"#,
      [
        #"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: /channel must be "#
          + #"a string","data":{"code":"ERR_INVALID_ARGUMENT","retryable":false,"field":"/channel"}}}"#
      ]
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}"#,
      [
        #"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: params must be an "#
          + #"object: this server takes named parameters only","data":{"code":"ERR_INVALID_ARGUMENT","#
          + #""retryable":false,"field":""}}}"#
      ]
    ),
    // Framing
    ("\u{FEFF}\(ping("1"))\r\n\r\n   \n\(ping("2"))", [pong("1"), pong("2")]),
    ("", []), ("\n\n", []),
  ]

  @Test(arguments: table)
  func `each case has its right answer`(_ input: String, _ expected: [String]) {
    let host = TestHost()
    host.send(input)
    #expect(host.finish() == expected)
    #expect(host.endOfInput() == .closed)
  }

  @Test(arguments: table)
  func `one byte at a time changes nothing`(_ input: String, _ expected: [String]) {
    let host = TestHost()
    for byte in input.utf8 { host.send([byte]) }
    #expect(host.finish() == expected)
  }

  @Test(arguments: [[0xFF], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] as [[UInt8]])
  func `invalid UTF-8 is one parse error, and the next line works`(_ bytes: [UInt8]) throws {
    let host = TestHost()
    host.send(bytes + [0x0A] + Array(Self.ping("1").utf8))
    let lines = host.finish()
    try #require(lines.count == 2)
    #expect(try members(lines[0])["error"]?.contains("-32700") == true)
    #expect(lines[1] == Self.pong("1"))
  }

  @Test func `a line over the limit is refused, and the next line works`() {
    let host = TestHost()
    host.send([UInt8](repeating: UInt8(ascii: "x"), count: 17 << 20))
    host.send("\n" + Self.ping("1") + "\n")
    #expect(
      host.finish() == [
        #"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a message "#
          + #"may have at most 16777216 bytes","data":{"code":"ERR_LINE_TOO_LONG","retryable":false}}}"#,
        Self.pong("1"),
      ]
    )
  }

  @Test func `a batch with too many members is refused as one`() {
    var limits = Connection.Limits()
    limits.maxBatchMembers = 2
    let host = TestHost(limits: limits)
    host.send("[1,2,3]\n[1,2]")
    #expect(
      host.finish() == [
        Self.refused("null", -32600, "Invalid request: a batch may have at most 2 members"),
        "[\(Self.notObject),\(Self.notObject)]",
      ]
    )
  }

  @Test func `headers on the input mean headers on the output`() {
    let host = TestHost()
    let body = Self.ping("\"é\"")
    host.send("Content-Length: \(body.utf8.count)\r\n\r\n\(body)Content-Length: 2\r\n\r\n{x")
    host.shutdownInput()
    let lines = host.finish()
    let parse = Self.refused("null", -32700, "Parse error: expected a key in quotes (at byte 1)")
    let all = lines.joined(separator: "\n")
    let reply = Self.pong("\"é\"")
    #expect(
      all + (host.line() ?? "")
        == "Content-Length: \(reply.utf8.count)\r\n\r\n\(reply)Content-Length: \(parse.utf8.count)\r\n\r"
    )
  }

  @Test func `broken headers are one error and the end of the connection`() {
    let host = TestHost(framing: .lsp)
    host.send("Content-Length: no\r\n\r\n{}" + Self.ping("1"))
    guard case .broken(let reason) = host.endOfInput() else {
      Issue.record("the connection goes on")
      return
    }
    #expect(reason.contains("Content-Length"))
  }

  @Test func `exit ends reading at once`() {
    let host = TestHost()
    host.send(
      Self.ping("1") + "\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n" + Self.ping("2") + "\n"
    )
    #expect(host.endOfInput() == .exit)
    #expect(host.finish() == [Self.pong("1")])
  }

  @Test func `notifications of others are ignored, and request methods never run as one`() {
    let host = TestHost()
    host.send(#"{"jsonrpc":"2.0","method":"note","params":{"a":1}}"# + "\n")
    host.send(#"{"jsonrpc":"2.0","method":"hold"}"# + "\n")
    #expect(host.finish() == [])
    #expect(host.held.take(0).isEmpty)
  }

  @Test func `the gate can refuse any request`() {
    let host = TestHost { router in
      router.gate = { $0 == "ping" ? nil : RPCError(code: 1701, message: "shutting down") }
    }
    host.send(Self.ping("1") + "\n" + #"{"jsonrpc":"2.0","id":2,"method":"echo"}"# + "\n")
    #expect(host.finish() == [Self.pong("1"), Self.refused("2", 1701, "shutting down")])
  }
}

@Suite struct `Routing` {
  @Test func `it tells names of methods and of parameters`() throws {
    var router = Router()
    router.register(Ping())
    router.register(Echo())
    #expect(router.methodNames == ["ping", "echo"])
    let params = try JSONNode(parsing: Array(#"{"value":1}"#.utf8))
    #expect(try router.askedNames(of: "echo", reading: params) == ["value"])
    #expect(try router.askedNames(of: "nope", reading: params) == nil)
    #expect(throws: JSONError.self) { try router.askedNames(of: "ping", reading: params) }
  }
}
