import JSON
import Testing

@testable import Configuration

@Suite("The schema")
struct SchemaTests {
  private let validator: SchemaValidator

  init() throws {
    let schema = try JSONNode(parsing: repositoryFile("schema/config.schema.json"))
    validator = SchemaValidator(root: schema)
  }

  @Test(
    "Code and schema know the same keys",
    arguments: [
      ("", "#"), ("local", "#/$defs/local"), ("s3", "#/$defs/s3"),
      ("pubnub", "#/$defs/pubnub"), ("cometchat", "#/$defs/cometchat"),
      ("crypto", "#/$defs/crypto"), ("limits", "#/$defs/limits"),
    ]
  )
  func sameKeys(_ section: String, _ reference: String) throws {
    let decoding = Decoding(environment: home)
    let yaml = """
      default: a
      remotes:
        a: {kind: local, root: /r}
        b: {kind: s3, bucket: b}
        c: {kind: pubnub, subscribeKey: s, userId: u, crypto: {cipherKey: k}}
        d: {kind: cometchat, appId: a, region: us, authToken: t}
      """
    let tree = try YAMLReader.read(Array(yaml.utf8), file: "config.yaml")
    _ = try Configuration(#require(tree), decoding, sourceName: nil)
    #expect(
      Set(decoding.knownKeys.keys) == [
        "", "remote", "local", "s3", "pubnub", "cometchat", "crypto", "limits",
      ]
    )
    let members = try validator.resolved(reference).members()
    let properties = try #require(members.first { $0.key == "properties" }).value.members()
    #expect(Set(properties.map(\.key)) == Set(decoding.knownKeys[section] ?? []))
    let additional = try #require(members.first { $0.key == "additionalProperties" }).value
    #expect(try !additional.bool())
    for (name, property) in properties {
      let described = try property.members().contains { $0.key == "description" }
      #expect(described, "\(name) has no description")
    }
  }

  @Test("The kinds of the schema are those of the code")
  func kinds() throws {
    for kind in RemoteKind.allCases {
      let needed =
        switch kind {
        case .local: "root: /r"
        case .s3: "bucket: b"
        case .pubnub: "subscribeKey: s, userId: u"
        case .cometchat: "appId: a, region: us, authToken: t"
        }
      #expect(try accepts("remotes: {a: {kind: \(kind.rawValue), \(needed)}}"))
    }
    #expect(try !accepts("remotes: {a: {kind: ftp, root: /r}}"))
  }

  @Test("The sample is accepted")
  func sample() throws {
    let node = try YAMLReader.read(repositoryFile("config.yaml"), file: "config.yaml")
    #expect(try validator.accepts(#require(node)))
  }

  @Test(
    "What the code accepts the schema accepts",
    arguments: [
      "{}", "~", "default: a\nremotes: {a: {kind: local, root: ~/a}}",
      "remotes: {a: {kind: local, root: '~'}}",
      "remotes: {a: {kind: local, root: /r, limits: {concurrency: 3, maxFileSize: ~}}, b: ~}",
      "stateDir: \"${A:-~/x}\"",
      "limits: {concurrency: 64, stallTimeout: 1.5h, maxFileSize: 1.5 GiB}",
      "limits: {concurrency: '${N:-3}', maxFileCount: 1000000, uploadRate: 5MB, downloadRate: 1}",
      "limits: {maxFileSize: 9223372036854775807}", "limits: {maxFileSize: '${S:-5 MiB}'}",
      "limits: {maxFileSize: 0.5 KiB, stallTimeout: 500 ms}",
      "limits: {allowedTypes: [png, .JPG, image/*, '*/*', '${T:-gif}'], roots: [/, ~/x, '${R:-/r}']}",
      "remotes: {a: {kind: s3, bucket: my_Bucket.1}}",
      """
      remotes:
        a:
          kind: s3
          bucket: "${BUCKET:-b}"
          endpoint: http://[::1]:9000/
          region: us-gov-west-1
          prefix: /a//b/
          accessKeyId: 0123456789
          secretAccessKey: "${KEY:-a/b+c=}"
          sessionToken: t
          profile: "my profile"
          provider: seaweedfs
          addressing: path
          checksum: md5
          partSize: 5 MiB
          caFile: ~/ca.pem
          proxy: socks5h://user:password@proxy:1080
          retries: 0
          limits: {concurrency: 2}
      """,
      "remotes: {a: {kind: s3, bucket: b, endpoint: HTTPS://S3.example.com, proxy: none}}",
      "remotes: {a: {kind: s3, bucket: b, endpoint: ~, proxy: ~, partSize: ~, retries: ~}}",
      "remotes: {a: {kind: pubnub, subscribeKey: sub-c-1, publishKey: pub_c-1, userId: 'é e'}}",
      """
      remotes:
        a:
          kind: pubnub
          subscribeKey: demo
          publishKey: demo
          secretKey: sec-c-a+b=
          userId: 7
          authToken: "${TOKEN:-qEF2}"
          origin: http://127.0.0.1:8080/
          publishRetryLimit: 1
          crypto: {cipherKey: enigma, module: legacy, randomIV: false}
          proxy: none
          retries: 0
          limits: {maxFileSize: 20 MiB}
      """,
      "remotes: {a: {kind: pubnub, subscribeKey: s, userId: u, crypto: ~, origin: ~, secretKey: ~}}",
      "limits: {concurrency: ~, stallTimeout: ~, allowedTypes: ~, blockedTypes: ~, roots: ~}",
      "default: ~\nstateDir: ~\nremotes: ~\nlimits: ~",
    ]
  )
  func good(_ yaml: String) throws {
    #expect(throws: Never.self) { try configuration(yaml) }
    #expect(try accepts(yaml))
  }

  @Test(
    "What the code refuses the schema refuses, where a schema can see it",
    arguments: BadDocument.wrong
  )
  func bad(_ document: BadDocument) throws {
    guard let refuses = document.schemaRefuses else { return }
    #expect(try accepts(document.yaml) != refuses)
  }

  private func accepts(_ yaml: String) throws -> Bool {
    let node = try YAMLReader.read(Array(yaml.utf8), file: "config.yaml")
    return try validator.accepts(#require(node))
  }
}
