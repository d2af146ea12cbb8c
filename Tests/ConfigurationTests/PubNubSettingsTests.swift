import TransferModel
import Testing

@testable import Configuration

@Suite("Kind pubnub")
struct PubNubSettingsTests {
  @Test("Every key comes to its setting")
  func everyKey() throws {
    let settings = try settings(
      """
      remotes:
        a:
          kind: pubnub
          subscribeKey: sub-c-1
          publishKey: pub-c-1
          secretKey: "${SECRET}"
          userId: "user 1"
          authToken: qEF2
          origin: HTTP://127.0.0.1:8080/
          publishRetryLimit: 2
          crypto: {cipherKey: hunter2, module: legacy, randomIV: false}
          caFile: ~/ca.pem
          proxy: none
          retries: 1
      """,
      ["HOME": "/home/ada", "SECRET": "sec-c-1"]
    )
    var expected = PubNubSettings(publishKey: "pub-c-1", subscribeKey: "sub-c-1", userID: "user 1")
    expected.secretKey = Secret("sec-c-1")
    expected.authToken = Secret("qEF2")
    expected.origin = "http://127.0.0.1:8080"
    expected.publishRetryLimit = 2
    var crypto = PubNubSettings.Crypto(cipherKey: Secret("hunter2"))
    crypto.module = .legacy
    crypto.randomIV = false
    expected.crypto = crypto
    expected.http.caFile = "/home/ada/ca.pem"
    expected.http.proxy = .none
    expected.http.retries = 1
    #expect(settings == expected)
  }

  @Test("Two keys and a userId are enough")
  func defaults() throws {
    let settings = try settings(
      "remotes: {a: {kind: pubnub, publishKey: p, subscribeKey: s, userId: u}}"
    )
    #expect(settings == PubNubSettings(publishKey: "p", subscribeKey: "s", userID: "u"))
    #expect(settings.origin == "https://ps.pndsn.com")
    #expect(settings.publishRetryLimit == 5)
    #expect(settings.crypto == nil)
  }

  @Test("A userId's 92 characters are code points")
  func userID() {
    for (count, isTaken) in [(46, true), (47, false)] {
      let userID = String(repeating: "e\u{301}", count: count)
      let yaml = "remotes: {a: {kind: pubnub, subscribeKey: s, userId: \"\(userID)\"}}"
      #expect(((try? settings(yaml)) != nil) == isTaken)
    }
  }

  @Test(
    "Files have 5 MiB at most where nobody says otherwise",
    arguments: [
      ("", 5_242_880), (", limits: {maxFileSize: 20 MiB}", 20 << 20),
      (", limits: {maxFileSize: ~}", nil), (", limits: {concurrency: 2}", 5_242_880),
    ] as [(String, Int64?)]
  )
  func maxFileSize(_ limits: String, _ expected: Int64?) throws {
    let yaml = "remotes: {a: {kind: pubnub, subscribeKey: s, userId: u\(limits)}}"
    #expect(try configuration(yaml).remotes[0].limits.maxFileSize == expected)
    let global = try configuration("limits: {maxFileSize: 1 MiB}\n\(yaml)").remotes[0].limits
    #expect(global.maxFileSize == (limits.contains("maxFileSize") ? expected : 1 << 20))
  }

  @Test("A key of crypto that is missing in the environment never means unencrypted")
  func missing() throws {
    let configuration = try configuration(
      """
      remotes:
        a: {kind: pubnub, subscribeKey: s, userId: u, crypto: {cipherKey: "${KEY}"}}
      """
    )
    let error = try #require(throws: TransferError.self) { try configuration.remotes[0].resolve() }
    #expect(error.message.contains(" KEY ("))
  }

  @Test("The report and printed settings name no secret")
  func secrets() throws {
    let yaml = """
      remotes:
        a:
          kind: pubnub
          subscribeKey: sub-c-1
          publishKey: p
          userId: u
          secretKey: hunter1
          authToken: hunter2
          crypto: {cipherKey: hunter3}
      """
    let report = try configuration(yaml).checkReport
    #expect(
      report.contains(
        "remote a (pubnub, default): keyset sub-c-1 at https://ps.pndsn.com, encrypted\n"
      )
    )
    let settings = try settings(yaml)
    var dumped = ""
    dump(settings, to: &dumped)
    for text in [report, "\(settings)", String(reflecting: settings), dumped] {
      #expect(!text.contains("hunter"))
    }
  }

  @Test("The sample's remote, made live, has every key")
  func sample() throws {
    let text = String(decoding: try repositoryFile("config.yaml"), as: UTF8.self)
    let lines = text.split(separator: "\n").drop { $0 != "  # chat:" }.dropFirst()
    let keys = lines.prefix { $0.hasPrefix("    ") }
      .compactMap { line in
        line.firstMatch(of: /^(    |      )# ([A-Za-z]+:.*)$/).map { "\($0.1)\($0.2)" }
      }
    let yaml = (["remotes:", "  chat:"] + keys).joined(separator: "\n")
    let environment = [
      "HOME": "/h", "PUBNUB_SUBSCRIBE_KEY": "s", "PUBNUB_PUBLISH_KEY": "p", "PUBNUB_TOKEN": "t",
      "PUBNUB_SECRET_KEY": "k", "PUBNUB_CIPHER_KEY": "c",
    ]
    let settings = try settings(yaml, environment)
    #expect(settings.crypto?.cipherKey == Secret("c"))
    let decoding = Decoding(environment: environment)
    let tree = try YAMLReader.read(Array(yaml.utf8), file: "config.yaml")
    _ = try Configuration(#require(tree), decoding, sourceName: nil)
    let known = Set((decoding.knownKeys["pubnub"] ?? []) + (decoding.knownKeys["crypto"] ?? []))
    let shown = Set(keys.map { String($0.drop { $0 == " " }.prefix { $0 != ":" }) })
    #expect(known.subtracting(shown) == ["limits"])
  }

  private func settings(
    _ yaml: String,
    _ environment: [String: String] = home
  ) throws -> PubNubSettings {
    let remote = try configuration(yaml, environment).remotes[0]
    guard case .pubnub(let settings) = try remote.resolve() else {
      throw TransferError(.config, "not pubnub")
    }
    return settings
  }
}
