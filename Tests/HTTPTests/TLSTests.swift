import Glibc
import HTTP
import Testing
import TransferModel

@Suite("https", .serialized)
struct TLSTests {
  @Test("A server whose authority caFile names is trusted, and its sessions are resumed")
  func trusted() async throws {
    let server = try TLSServer(name: "IP:127.0.0.1")
    let client = HTTPClient(userAgent: "ferry/test", limits: patientLimits)
    let request = HTTPRequest(.get, origin: server.origin, path: "/")
    let first = try await client.send(request, with: server.traffic(caFile: server.authority))
    #expect(first.status == 200)
    #expect(String(decoding: first.body, as: UTF8.self).contains("New, TLSv1.3"))
    // The server closes after each answer, so this is another connection.
    let second = try await client.send(request, with: server.traffic(caFile: server.authority))
    #expect(String(decoding: second.body, as: UTF8.self).contains("Reused, TLSv1.3"))
    await client.close()
  }

  @Test("Without its authority, or under another name, it is refused, and trying again is no use")
  func refused() async throws {
    let server = try TLSServer(name: "IP:127.0.0.1")
    let other = try TLSServer(name: "DNS:elsewhere")
    let client = HTTPClient(userAgent: "ferry/test", limits: patientLimits)
    for (to, file) in [
      (server, nil), (server, other.authority), (other, other.authority),
    ] as [(TLSServer, String?)] {
      let request = HTTPRequest(.get, origin: to.origin, path: "/")
      let error = await failure { () async throws(TransferError) in
        try await client.send(request, with: to.traffic(caFile: file))
      }
      #expect(error?.code == .network)
      #expect(error?.isRetryable == false)
      #expect(error?.mayHaveArrived == false)
      #expect(error?.message.contains("certificate of 127.0.0.1:") == true)
      #expect(error?.message.contains("caFile") == true)
    }
    await client.close()
  }

  @Test("A caFile that is missing or holds no certificate is a wrong configuration")
  func badFile() async throws {
    let client = HTTPClient(userAgent: "ferry/test", limits: patientLimits)
    let request = HTTPRequest(.get, origin: "https://127.0.0.1:1", path: "/")
    for file in ["/nowhere/ca.pem", "/etc/passwd"] {
      let options = HTTPOptions(caFile: file, proxy: .none)
      let error = await failure { () async throws(TransferError) in
        try await client.send(request, with: HTTPTraffic(options: options))
      }
      #expect(error?.code == .config)
      #expect(error?.message.contains(file) == true)
    }
    await client.close()
  }

  @Test("https to a port that speaks http, and the other way round")
  func mixedUp() async throws {
    try await withServer { peer in
      _ = try peer.read(1)
      try peer.answer(400)
    } _: { client, server in
      let origin = "https://127.0.0.1:\(server.port)"
      let request = HTTPRequest(.get, origin: origin, path: "/")
      let error = await failure { () async throws(TransferError) in
        try await client.send(request, with: .direct())
      }
      #expect(error?.code == .network)
      #expect(error?.message.contains("speaks https") == true)
    }
  }
}

/// `openssl s_server`, which tells about each connection in a page, and closes after it.
private final class TLSServer {
  let authority: String
  private let port: Int
  private let folder: String
  private var process: pid_t = 0

  var origin: String { "https://127.0.0.1:\(port)" }

  /// Starts one with a certificate for a name, signed by an authority of its own.
  init(name: String) throws {
    var template = Array("/tmp/ferry-tls-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw ServerTrouble.system(errno) }
    let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    self.folder = folder
    authority = "\(folder)/ca.pem"
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    try Self.run(
      ["req", "-x509", "-subj", "/CN=test authority", "-days", "2", "-out", authority]
        + ["-keyout", "\(folder)/ca.key"] + key
    )
    try Self.run(
      ["req", "-x509", "-subj", "/CN=server", "-days", "2", "-addext", "subjectAltName=\(name)"]
        + ["-addext", "basicConstraints=critical,CA:FALSE", "-CA", authority]
        + ["-CAkey", "\(folder)/ca.key", "-out", "\(folder)/server.pem"]
        + ["-keyout", "\(folder)/server.key"] + key
    )
    var pipes: [Int32] = [0, 0]
    guard pipe(&pipes) == 0 else { throw ServerTrouble.system(errno) }
    process = try Self.spawn(
      ["s_server", "-accept", "127.0.0.1:0", "-www", "-cert", "\(folder)/server.pem"]
        + ["-key", "\(folder)/server.key"],
      output: pipes[1]
    )
    close(pipes[1])
    // It says which port it was given: ACCEPT 127.0.0.1:12345
    var said: [UInt8] = []
    var byte: UInt8 = 0
    while !said.contains(10) || !String(decoding: said, as: UTF8.self).contains("ACCEPT ") {
      guard read(pipes[0], &byte, 1) == 1 else { throw ServerTrouble.closed }
      said.append(byte)
      if byte == 10, !String(decoding: said, as: UTF8.self).contains("ACCEPT ") { said = [] }
    }
    let line = String(decoding: said.dropLast(), as: UTF8.self)
    port = Int(line.split(separator: ":").last ?? "") ?? 0
    output = pipes[0]
  }

  private let output: Int32

  deinit {
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
    close(output)
    for name in ["ca.pem", "ca.key", "server.pem", "server.key"] { unlink("\(folder)/\(name)") }
    rmdir(folder)
  }

  func traffic(caFile: String?) -> HTTPTraffic {
    HTTPTraffic(options: HTTPOptions(caFile: caFile, proxy: .none))
  }

  private static func run(_ words: [String]) throws {
    var status: Int32 = 0
    waitpid(try spawn(words, output: nil), &status, 0)
    guard status == 0 else { throw ServerTrouble.system(status) }
  }

  private static func spawn(_ words: [String], output: Int32?) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    if let output {
      posix_spawn_file_actions_adddup2(&actions, output, 1)
    } else {
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    }
    // Nothing of the tests' environment, such as a sanitizer's library.
    var environment: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/bin:/bin"), nil]
    var arguments: [UnsafeMutablePointer<CChar>?] = (["openssl"] + words).map { strdup($0) } + [nil]
    defer { for text in arguments + environment { free(text) } }
    var process = pid_t()
    let code = posix_spawnp(&process, "openssl", &actions, nil, &arguments, &environment)
    guard code == 0 else { throw ServerTrouble.system(code) }
    return process
  }
}
