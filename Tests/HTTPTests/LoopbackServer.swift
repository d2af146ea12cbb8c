import Glibc
import HTTP
import Synchronization
import TransferModel

/// A server on 127.0.0.1 or ::1 whose every connection runs a script on a thread of its own.
///
/// The script reads and writes as it likes: it can delay, drop, truncate, drip and stall. When it
/// returns, its connection is closed.
final class LoopbackServer: Sendable {
  typealias Script = @Sendable (Peer) throws -> Void

  let port: UInt16
  private let host: String
  private let listener: Int32
  private let script: Script
  private let accepted = Mutex(0)

  init(ipv6: Bool = false, _ script: @escaping Script) throws {
    self.script = script
    host = ipv6 ? "[::1]" : "127.0.0.1"
    (listener, port) = try Self.listen(ipv6: ipv6)
    let me = Unmanaged.passRetained(self)
    startThread { me.takeRetainedValue().accept() }
  }

  /// How many connections came.
  var connections: Int { accepted.withLock { $0 } }

  var origin: String { "http://\(host):\(port)" }

  /// Takes no more connections; those there are end with their scripts.
  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  /// One port, for somebody who has to find nobody there.
  static func closedPort() throws -> UInt16 {
    let (listener, port) = try listen(ipv6: false)
    close(listener)
    return port
  }

  private static func listen(ipv6: Bool) throws -> (Int32, UInt16) {
    let family = ipv6 ? AF_INET6 : AF_INET
    let listener = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var storage = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    try withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
        guard !ipv6 else { return }
        address.pointee.sin_family = sa_family_t(AF_INET)
        address.pointee.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        length = socklen_t(MemoryLayout<sockaddr_in>.size)
      }
      if ipv6 {
        pointer.pointee.sin6_family = sa_family_t(AF_INET6)
        pointer.pointee.sin6_addr = in6addr_loopback
      }
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard bind(listener, address, length) == 0, Glibc.listen(listener, 128) == 0,
          getsockname(listener, address, &length) == 0
        else { throw ServerTrouble.system(errno) }
      }
    }
    // The port is at the same place for both.
    return (listener, UInt16(bigEndian: storage.sin6_port))
  }

  private func accept() {
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else { break }
      let number = accepted.withLock { count in
        count += 1
        return count
      }
      startThread { [script] in
        let peer = Peer(descriptor: descriptor, number: number)
        // A script that fails has lost its client, which is for the test to judge.
        try? script(peer)
        peer.end()
      }
    }
    close(listener)
  }
}

enum ServerTrouble: Error { case system(Int32), closed }

/// A request as it came.
struct SeenRequest: Sendable {
  var line: String
  var fields: [HTTPHeader]
  var body: [UInt8] = []

  func field(_ name: String) -> String? { fields.first(name) }
}

/// One connection of a script.
final class Peer {
  /// 1 for the server's first connection.
  let number: Int
  private let descriptor: Int32
  private var unread: [UInt8] = []
  private var isEnded = false

  init(descriptor: Int32, number: Int) {
    self.descriptor = descriptor
    self.number = number
    var on: Int32 = 1
    setsockopt(
      descriptor,
      Int32(IPPROTO_TCP),
      TCP_NODELAY,
      &on,
      socklen_t(MemoryLayout<Int32>.size)
    )
  }

  /// The next request with its body; nil where the client closed instead.
  func request() throws -> SeenRequest? {
    guard var request = try head() else { return nil }
    request.body = try read(Int(request.field("Content-Length") ?? "0") ?? 0)
    return request
  }

  /// The next request up to its body; nil where the client closed instead.
  func head() throws -> SeenRequest? {
    while true {
      if let end = endOfHead() {
        let lines = String(decoding: unread[..<end], as: UTF8.self).split(separator: "\r\n")
        unread.removeFirst(end + 4)
        let fields = lines.dropFirst().map { line in
          let colon = line.firstIndex(of: ":") ?? line.endIndex
          return HTTPHeader(
            String(line[..<colon]),
            String(line[colon...].dropFirst().drop { $0 == " " })
          )
        }
        return SeenRequest(line: String(lines.first ?? ""), fields: fields)
      }
      if try !more() { return nil }
    }
  }

  func read(_ count: Int) throws -> [UInt8] {
    while unread.count < count {
      guard try more() else { throw ServerTrouble.closed }
    }
    defer { unread.removeFirst(count) }
    return Array(unread[..<count])
  }

  func write(_ text: String) throws { try write(Array(text.utf8)) }

  func write(_ bytes: [UInt8]) throws {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { view in
        send(
          descriptor,
          view.baseAddress.map { $0 + done },
          bytes.count - done,
          Int32(MSG_NOSIGNAL)
        )
      }
      guard count >= 0 else { throw ServerTrouble.system(errno) }
      done += count
    }
  }

  /// A whole answer.
  func answer(_ status: Int, _ fields: [String] = [], _ body: [UInt8] = []) throws {
    let lines = ["HTTP/1.1 \(status) Reason", "Content-Length: \(body.count)"] + fields
    try write(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
  }

  /// The client's end.
  var clientPort: UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = getpeername(descriptor, $0, &length)
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  /// Reads nothing, and returns when the client is gone.
  func waitUntilClosed() {
    // POLLRDHUP, which Glibc hides behind _GNU_SOURCE.
    var entry = pollfd(fd: descriptor, events: 0x2000, revents: 0)
    while poll(&entry, 1, -1) < 0, errno == EINTR {}
  }

  /// Ends the connection with a reset instead of an orderly end.
  func reset() {
    var hard = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
    end()
  }

  func end() {
    guard !isEnded else { return }
    isEnded = true
    close(descriptor)
  }

  private func endOfHead() -> Int? {
    guard unread.count >= 4 else { return nil }
    return (0...unread.count - 4).first { unread[$0..<$0 + 4].elementsEqual("\r\n\r\n".utf8) }
  }

  private func more() throws -> Bool {
    var room = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &room, room.count, 0)
    guard count >= 0 else { throw ServerTrouble.system(errno) }
    unread += room[..<count]
    return count > 0
  }
}

/// Runs a closure on a thread of its own, where it may block.
func startThread(_ body: @escaping @Sendable () -> Void) {
  final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var thread = pthread_t()
  let box = Unmanaged.passRetained(Box(body))
  let code = pthread_create(
    &thread,
    nil,
    { context in
      guard let context else { return nil }
      Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body()
      return nil
    },
    box.toOpaque()
  )
  precondition(code == 0, "no thread for a test's server")
  pthread_detach(thread)
}
