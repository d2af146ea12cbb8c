import Glibc
import JSON
@testable import JSONRPC
import Synchronization
import Testing

/// The other side of a connection: writes requests into one pipe, reads lines from another.
final class TestHost: Sendable {
  let outbox: Outbox
  let connection: Connection
  let held = Held()
  let logged = Monitor<[String]>([])
  private let end = Monitor<Connection.EndOfInput?>(nil)
  private let toServer: Int32
  private let fromServer: Int32
  private let unread = Mutex<ArraySlice<UInt8>>([])

  init(
    bounds: Outbox.Bounds = .init(),
    limits: Connection.Limits = .init(),
    framing: InputFraming = .auto,
    progressInterval: Duration = .milliseconds(50),
    _ prepare: (inout Router) -> Void = { _ in }
  ) {
    signal(SIGPIPE, SIG_IGN)
    let input = makePipe()
    let output = makePipe()
    toServer = input.write
    fromServer = output.read
    outbox = Outbox(output: output.write, bounds: bounds, progressInterval: progressInterval)
    let log: @Sendable (String) -> Void = { [logged] line in logged.change { $0.append(line) } }
    connection = Connection(
      input: input.read,
      outbox: outbox,
      framing: framing,
      limits: limits,
      log: log
    )
    var router = Router()
    router.register(Ping())
    router.register(Echo())
    router.register(Hold(held: held))
    router.register(Forget())
    prepare(&router)
    let finished = router
    DedicatedThread.start("test-reader") { [connection, outbox, end] in
      let reason = connection.run(finished)
      end.change { $0 = reason }
      _ = connection.waitUntilAnswered(until: .now + .seconds(120))
      _ = outbox.flush(until: .now + .seconds(120))
      close(output.write)
      close(input.read)
    }
  }

  deinit {
    close(toServer)
    close(fromServer)
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        write(toServer, $0.baseAddress?.advanced(by: sent), $0.count - sent)
      }
      guard count > 0 else { return }
      sent += count
    }
  }

  /// The next line without its LF; nil at the end or when nothing comes for a minute.
  func line() -> String? {
    unread.withLock { unread in
      while true {
        if let end = unread.firstIndex(of: 0x0A) {
          // A slice: moving all that follows, line by line, takes minutes under a sanitizer.
          defer { unread = unread[(end + 1)...] }
          return String(decoding: unread[..<end], as: UTF8.self)
        }
        guard let more = readSome() else { return nil }
        unread += more
      }
    }
  }

  /// Closes the input and reads all that still comes.
  func finish() -> [String] {
    shutdownInput()
    var lines: [String] = []
    while let line = line() { lines.append(line) }
    return lines
  }

  func shutdownInput() {
    // The number stays taken until deinit: another test must not get it.
    let null = open("/dev/null", O_WRONLY)
    dup2(null, toServer)
    close(null)
  }

  /// Lets nobody read the output any more.
  func stopReading() {
    let null = open("/dev/null", O_RDONLY)
    dup2(null, fromServer)
    close(null)
  }

  func endOfInput() -> Connection.EndOfInput {
    end.wait { $0.map { .done($0) } ?? .again(until: nil) }
  }

  private func readSome() -> [UInt8]? {
    var entry = pollfd(fd: fromServer, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, 60_000) > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = read(fromServer, &bytes, bytes.count)
    return count > 0 ? Array(bytes[..<count]) : nil
  }
}

/// Held while a pipe is made and while a child is started: the child must not keep an end open.
let descriptors = Mutex(())

func makePipe() -> (read: Int32, write: Int32) {
  descriptors.withLock { _ in
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0)
    for end in ends { precondition(fcntl(end, F_SETFD, FD_CLOEXEC) == 0) }
    return (ends[0], ends[1])
  }
}

func members(_ line: String) throws -> [String: String] {
  let pairs = try JSONNode(parsing: Array(line.utf8)).members()
  return Dictionary(
    uniqueKeysWithValues: pairs.map { ($0.key, String(decoding: $0.value.bytes, as: UTF8.self)) }
  )
}

func params(_ line: String) throws -> [String: String] {
  try members(line)["params"].map { try members($0) } ?? [:]
}

struct Ping: JSONRPC.Method {
  static let name = "ping"
  static func decode(_ fields: inout JSONFields) throws(JSONError) {}
  func handle(_ params: Void, _ call: Call) { call.succeed(RawJSON(validated: Array("{}".utf8))) }
}

struct Echo: JSONRPC.Method {
  static let name = "echo"
  static func decode(_ fields: inout JSONFields) throws(JSONError) -> RawJSON? {
    fields.raw("value")
  }
  func handle(_ value: RawJSON?, _ call: Call) {
    call.succeed { writer in
      if let value { writer.raw(value) } else { writer.null() }
    }
  }
}

/// Calls that wait until the test answers them.
final class Held: Sendable {
  private let calls = Monitor<[Call]>([])

  func add(_ call: Call) { calls.change { $0.append(call) } }

  /// Waits for `count` calls and takes them.
  func take(_ count: Int) -> [Call] {
    calls.wait { calls in
      guard calls.count >= count else { return .again(until: nil) }
      defer { calls = [] }
      return .done(calls)
    }
  }
}

struct Hold: JSONRPC.Method {
  let held: Held
  static let name = "hold"
  static func decode(_ fields: inout JSONFields) throws(JSONError) -> String? {
    try fields.optionalString("channel")
  }
  func handle(_ params: String?, _ call: Call) { held.add(call) }
}

struct Forget: JSONRPC.Method {
  static let name = "forget"
  static let isAlwaysServed = true
  static func decode(_ fields: inout JSONFields) throws(JSONError) {}
  func handle(_ params: Void, _ call: Call) {}
}
