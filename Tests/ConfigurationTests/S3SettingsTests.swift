import Testing
import TransferModel

@testable import Configuration

@Suite("Kind s3")
struct S3SettingsTests {
  @Test("Every key arrives")
  func everyKey() throws {
    let settings = try settings(
      """
      remotes:
        a:
          kind: s3
          bucket: photos
          endpoint: "${URL}"
          region: eu-central-1
          prefix: /team//files/
          accessKeyId: AKID
          secretAccessKey: "${KEY}"
          sessionToken: token
          profile: work
          provider: minio
          addressing: virtual
          checksum: crc32c
          partSize: 16 MiB
          pollInterval: 1m
          settleWindow: 1h
          abandonAfter: 1.5d
          caFile: ~/ca.pem
          proxy: "http://user:${KEY}@proxy:3128"
          retries: 7
      """,
      ["HOME": "/home/ada", "URL": "HTTPS://Store.example.com:443/", "KEY": "hunter2"]
    )
    var expected = S3Settings(bucket: "photos")
    expected.endpoint = "https://store.example.com"
    expected.region = "eu-central-1"
    expected.prefix = ObjectReference(path: "team/files")
    expected.credentials = .init(
      accessKeyID: Secret("AKID"),
      secretAccessKey: Secret("hunter2"),
      sessionToken: Secret("token")
    )
    expected.profile = "work"
    expected.provider = .minio
    expected.addressing = .virtual
    expected.checksum = .crc32c
    expected.partSize = 16 << 20
    expected.pollIntervalMs = 60_000
    expected.settleWindowMs = 3_600_000
    expected.abandonAfterMs = 129_600_000
    expected.http.caFile = "/home/ada/ca.pem"
    expected.http.proxy = .url(Secret("http://user:hunter2@proxy:3128"))
    expected.http.retries = 7
    #expect(settings == expected)
  }

  @Test("What is not given is left to ferry")
  func defaults() throws {
    let settings = try settings("remotes: {a: {kind: s3, bucket: b}}")
    #expect(settings == S3Settings(bucket: "b"))
    #expect(settings.http.retries == 4)
    #expect(settings.http.proxy == .environment)
  }

  @Test(
    "An endpoint is a scheme, a host and a port",
    arguments: [
      ("http://127.0.0.1:80", "http://127.0.0.1"), ("https://[::1]:8443/", "https://[::1]:8443"),
      ("http://h:443", "http://h:443"), ("https://h-1.x_y", "https://h-1.x_y"),
      ("https://", nil), ("https:///", nil), ("ftp://h", nil), ("h", nil), ("https://h//", nil),
      ("https://h:", nil), ("https://h:65536", nil), ("https://h:+1", nil), ("https://[h]", nil),
      ("https://[::1", nil), ("https://::1", nil), ("https://h?x", nil), ("https://h#x", nil),
      ("https://a b", nil), ("https://a@h", nil), ("https://hä", nil),
    ] as [(String, String?)]
  )
  func endpoint(_ url: String, _ origin: String?) {
    #expect(S3Settings.origin(url) == origin)
  }

  @Test("A missing variable is told when the remote is used, and hides nothing else that is wrong")
  func missing() throws {
    let configuration = try configuration(
      """
      remotes:
        a: {kind: s3, bucket: "${B}", accessKeyId: k, secretAccessKey: "${K}"}
      """
    )
    let error = try #require(throws: TransferError.self) { try configuration.remotes[0].resolve() }
    #expect(error.message.contains(" B ("))
    #expect(error.message.contains(" K ("))
  }

  @Test("The report names the place and no secret")
  func report() throws {
    let yaml = """
      default: a
      remotes:
        a: {kind: s3, bucket: b, accessKeyId: hunter1, secretAccessKey: hunter2, prefix: p/q}
        b: {kind: s3, bucket: b, endpoint: "http://h:9000", proxy: "http://u:hunter2@p"}
      """
    let report = try configuration(yaml).checkReport
    #expect(report.contains("\nremote a (s3, default): s3://b/p/q at AWS\n"))
    #expect(report.contains("\nremote b (s3): s3://b at http://h:9000\n"))
    #expect(!report.contains("hunter"))
  }

  @Test("Printing and dumping settings shows no secret")
  func printing() throws {
    let yaml = """
      remotes:
        a:
          kind: s3
          bucket: b
          accessKeyId: hunter1
          secretAccessKey: hunter2
          sessionToken: hunter3
          proxy: http://hunter4@p
      """
    let settings = try settings(yaml)
    var dumped = ""
    dump(settings, to: &dumped)
    for text in ["\(settings)", String(reflecting: settings), dumped] {
      #expect(!text.contains("hunter"))
    }
  }

  @Test("The sample's remote, made live, has every key")
  func sample() throws {
    let text = String(decoding: try repositoryFile("config.yaml"), as: UTF8.self)
    let lines = text.split(separator: "\n").drop { $0 != "  # store:" }.dropFirst()
    let keys = lines.prefix { $0.hasPrefix("    ") }
      .compactMap { line in
        line.firstMatch(of: /^    # ([A-Za-z]+: .*)$/).map { "    \($0.1)" }
      }
    let yaml = (["remotes:", "  store:"] + keys).joined(separator: "\n")
    let environment = ["HOME": "/h", "STORE_KEY_ID": "i", "STORE_SECRET": "s", "STORE_TOKEN": "t"]
    let settings = try settings(yaml, environment)
    #expect(settings.bucket == "my-bucket")
    #expect(settings.credentials?.sessionToken == Secret("t"))
    let decoding = Decoding(environment: environment)
    let tree = try YAMLReader.read(Array(yaml.utf8), file: "config.yaml")
    _ = try Configuration(#require(tree), decoding, sourceName: nil)
    let known = Set(decoding.knownKeys["s3"] ?? [])
    let shown = Set(keys.map { String($0.dropFirst(4).prefix { $0 != ":" }) })
    #expect(known.subtracting(shown) == ["limits"])
  }

  private func settings(
    _ yaml: String,
    _ environment: [String: String] = home
  ) throws -> S3Settings {
    let remote = try configuration(yaml, environment).remotes[0]
    guard case .s3(let settings) = try remote.resolve() else {
      throw TransferError(.config, "not s3")
    }
    return settings
  }
}
