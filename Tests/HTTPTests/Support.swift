import Glibc
import HTTP
import Synchronization
import TransferModel

/// Connections stay however long the next step of a test waits for a thread.
let patientLimits = HTTPLimits(idle: .seconds(3600))

/// A server with a script and a client of its own, both gone at the end of the test.
func withServer<Value>(
  ipv6: Bool = false,
  limits: HTTPLimits = patientLimits,
  _ script: @escaping LoopbackServer.Script,
  _ body: (HTTPClient, LoopbackServer) async throws -> Value
) async throws -> Value {
  let server = try LoopbackServer(ipv6: ipv6, script)
  let client = HTTPClient(userAgent: "ferry/test", limits: limits)
  do {
    let value = try await body(client, server)
    await client.close()
    server.stop()
    return value
  } catch {
    await client.close()
    server.stop()
    throw error
  }
}

extension HTTPTraffic {
  /// Without the proxy that the machine running the tests may have.
  static func direct(
    stall: Duration = .seconds(30),
    source: HTTPSource? = nil,
    target: HTTPTarget? = nil
  ) -> HTTPTraffic {
    HTTPTraffic(
      options: HTTPOptions(proxy: .none, stallTimeout: stall),
      source: source,
      target: target
    )
  }
}

/// A file without a name, closed with this object.
final class ScratchFile: Sendable {
  let descriptor: Int32

  init(_ bytes: [UInt8] = []) throws {
    var path = Array("/tmp/ferry-http-XXXXXX".utf8CString)
    descriptor = mkstemp(&path)
    unlink(path)
    guard descriptor >= 0, pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
      throw ServerTrouble.system(errno)
    }
  }

  deinit { close(descriptor) }

  var target: HTTPTarget { HTTPTarget(descriptor: descriptor, name: "scratch") }
  var source: HTTPSource { .descriptor(descriptor, name: "scratch") }

  /// All of it.
  func contents() -> [UInt8] {
    var status = stat()
    fstat(descriptor, &status)
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return Array(bytes[..<max(0, count)])
  }
}

/// Bytes that differ from their neighbours, the same for the same seed.
func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var state = seed
  return (0..<count).map { _ in
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return UInt8(truncatingIfNeeded: state >> 56)
  }
}

/// Numbers that callbacks of several threads add up.
final class Tally: Sendable {
  private let values = Mutex<[Int64]>([])

  func add(_ value: Int64) { values.withLock { $0.append(value) } }

  var all: [Int64] { values.withLock { $0 } }
  var sum: Int64 { all.reduce(0, +) }
}

/// The error that an operation ends with; nil where it succeeds.
func failure<Value>(
  _ operation: () async throws(TransferError) -> Value
) async -> TransferError? {
  do throws(TransferError) {
    _ = try await operation()
    return nil
  } catch {
    return error
  }
}

/// What scripts have seen, for the test to look at.
final class Kept<Value: Sendable>: Sendable {
  private let values = Mutex<[Value]>([])

  func keep(_ value: Value) { values.withLock { $0.append(value) } }

  var all: [Value] { values.withLock { $0 } }
}

/// Lets threads and tasks wait until something has happened.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [@Sendable () -> Void] = []
  }
  private let state = Mutex(State())

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for tell in waiting { tell() }
  }

  /// For tasks.
  func opened() async {
    await withCheckedContinuation { continuation in
      whenOpen { continuation.resume() }
    }
  }

  /// For threads, which it blocks.
  func wait() {
    let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    sem_init(semaphore, 0, 0)
    // sem_post(3) may be called from any thread; the semaphore lives until it was.
    nonisolated(unsafe) let sent = semaphore
    whenOpen { sem_post(sent) }
    while sem_wait(semaphore) != 0 {}
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  private func whenOpen(_ tell: @escaping @Sendable () -> Void) {
    let isOpen = state.withLock { state in
      if !state.isOpen { state.waiting.append(tell) }
      return state.isOpen
    }
    if isOpen { tell() }
  }
}

extension HTTPRequest {
  /// A question that is answered in memory.
  static func get(_ server: LoopbackServer, _ path: String = "/", query: String = "") -> HTTPRequest
  {
    HTTPRequest(.get, origin: server.origin, path: path, query: query)
  }

  /// An upload of the traffic's source.
  static func put(_ server: LoopbackServer, _ path: String = "/k", count: Int) -> HTTPRequest {
    HTTPRequest(
      .put,
      origin: server.origin,
      path: path,
      body: [.source(0..<Int64(count))],
      lane: .bulk
    )
  }
}
