import Testing

@testable import Configuration

/// A document that is refused: where, and with which words.
struct BadDocument: Sendable, CustomTestStringConvertible {
  var yaml: String
  var place: String
  var words: String
  /// Whether the schema refuses it as well; nil where it cannot be asked, or where it depends on
  /// which notations of numbers an editor's YAML knows.
  var schemaRefuses: Bool?

  init(_ yaml: String, _ place: String, _ words: String, schemaRefuses: Bool? = true) {
    self.yaml = yaml
    self.place = place
    self.words = words
    self.schemaRefuses = schemaRefuses
  }

  var testDescription: String { "\(place) \(words)" }

  /// Not YAML, or YAML that no configuration may use.
  static let unreadable: [BadDocument] = [
    .init("a: [1", "2:1", "did not find expected ',' or ']'"),
    .init("limits: {concurrency: 4", "2:1", "did not find expected ',' or '}'"),
    .init("default: local\n  limits: {}", "2:9", "mapping values are not allowed"),
    .init("\tdefault: local", "1:1", "found character that cannot start any token"),
    .init("default: \"local", "1:16", "found unexpected end of stream"),
    .init("default: 'a\n---\n'", "2:1", "found unexpected document indicator"),
    .init("default: \"\\q\"", "1:11", "found unknown escape character"),
    .init("default: \"\\uD800\"", "1:13", "found invalid Unicode character escape code"),
    .init("default: @local", "1:10", "found character that cannot start any token"),
    .init("default: `local`", "1:10", "found character that cannot start any token"),
    .init("default: local\nä: \u{7}", "2:4", "control characters are not allowed"),
    .init("%YAML 3.0\n---\ndefault: local", "1:1", "found incompatible YAML document"),
    .init("default: local\n---\ndefault: local", "2:1", "a second document"),
    .init("--- \n...\n--- \n", "3:1", "a second document"),
    .init("limits: &all {}", "1:9", "anchors (&) and aliases (*) are not supported"),
    .init("limits: {roots: [*a]}", "1:18", "anchors (&) and aliases (*) are not supported"),
    .init("? [a]\n: b", "1:3", "a key must be a plain name"),
    .init(": b", "1:1", "did not find expected key"),
    .init("'': b", "1:1", "a key must be a plain name"),
    .init("{root: ${ROOT}}", "1:9", "quote a value that holds braces"),
    .init("limits: !!map {}", "1:9", "tags (!) are not supported"),
    .init("default: !local x", "1:10", "tags (!) are not supported"),
    .init("default: ! x", "1:10", "tags (!) are not supported"),
    .init("remotes: !x [a]", "1:10", "tags (!) are not supported"),
    .init("limits:\n  <<: {concurrency: 2}", "2:3", "merge keys (<<) are not supported"),
    .init("default: a\nlimits: {}\ndefault: b", "3:1", "first given at config.yaml:1:1"),
    .init(
      "limits: {roots: [], \"roots\": []}",
      "1:21",
      "duplicate key \"roots\", first given at config.yaml:1:10"
    ),
  ]

  /// YAML whose shape or values no configuration has.
  static let wrong: [BadDocument] = [
    .init("local", "1:1", "expected a mapping of keys, found a single value"),
    .init("- a", "1:1", "expected a mapping of keys, found a list"),
    .init("romotes: {}", "1:1", "unknown key \"romotes\" (did you mean \"remotes\"?); known"),
    .init("# é\nLimits: {}", "2:1", "unknown key \"Limits\" (did you mean \"limits\"?)"),
    .init(
      "\"<<\": {}",
      "1:1",
      "unknown key \"<<\"; known here: default, stateDir, limits, remotes"
    ),
    .init("true: 1", "1:1", "unknown key \"true\"; known"),
    .init("default: [local]", "1:10", "expected a single value, found a list"),
    .init("default: ''", "1:10", "default: expected a value that is not empty"),
    .init(
      "default: locale",
      "1:10",
      "no remote \"locale\" (did you mean \"local\"?); there are: local",
      schemaRefuses: false
    ),
    .init("stateDir: state", "1:11", "stateDir: expected an absolute path"),
    .init("stateDir: ./state", "1:11", "stateDir: expected an absolute path"),
    .init("stateDir: ~ada/state", "1:11", "stateDir: expected an absolute path"),
    .init("stateDir: $HOME/x", "1:11", "write ${NAME} for a variable, or $$"),
    .init("stateDir: /${1A}", "1:11", "with a name of letters, digits and _", schemaRefuses: false),
    .init("stateDir: \"/x\\0y\"", "1:11", "contains a NUL character", schemaRefuses: false),
    .init(
      "stateDir: ${NOWHERE}/x",
      "1:11",
      "environment variable NOWHERE is not set",
      schemaRefuses: false
    ),
    .init("limits: 4", "1:9", "expected a mapping of keys, found a single value"),
    .init("limits: []", "1:9", "expected a mapping of keys, found a list"),
    .init("limits: {concurency: 4}", "1:10", "(did you mean \"concurrency\"?)"),
    .init("limits: {concurrency: 0}", "1:23", "a whole number from 1 to 64, not \"0\""),
    .init("limits: {concurrency: 65}", "1:23", "a whole number from 1 to 64, not \"65\""),
    .init("limits: {concurrency: 0x4}", "1:23", "not \"0x4\"", schemaRefuses: nil),
    .init("limits: {concurrency: 04}", "1:23", "not \"04\"", schemaRefuses: false),
    .init("limits: {concurrency: 0o4}", "1:23", "not \"0o4\"", schemaRefuses: nil),
    .init("limits: {concurrency: +4}", "1:23", "not \"+4\"", schemaRefuses: false),
    .init("limits: {concurrency: 1_0}", "1:23", "not \"1_0\"", schemaRefuses: nil),
    .init("limits: {concurrency: .inf}", "1:23", "not \".inf\""),
    .init("limits: {concurrency: yes}", "1:23", "not \"yes\""),
    .init("limits: {concurrency: {a: b}}", "1:23", "expected a single value, found a mapping"),
    .init(
      "limits:\n  stallTimeout: 30",
      "2:17",
      "with its unit, such as 500ms, 30s, 15m or 2h, not"
    ),
    .init("limits:\n  stallTimeout: 99ms", "2:17", "from 100ms to 24h", schemaRefuses: false),
    .init("limits:\n  stallTimeout: 25h", "2:17", "from 100ms to 24h", schemaRefuses: false),
    .init("limits:\n  stallTimeout: 1w", "2:17", "not \"1w\""),
    .init("limits: {maxFileSize: 0}", "1:23", "a size above 0"),
    .init("limits: {maxFileSize: -1}", "1:23", "not \"-1\""),
    .init("limits: {maxFileSize: 5 MX}", "1:23", "such as 5 MiB (2^20) or 5 MB (10^6)"),
    .init("limits: {maxFileSize: 5M}", "1:23", "in B, kB, KB, KiB, MB, MiB, GB, GiB, TB, TiB"),
    .init("limits: {maxFileSize: 1e6}", "1:23", "not \"1e6\"", schemaRefuses: nil),
    .init("limits: {maxFileSize: 1.5}", "1:23", "not \"1.5\""),
    .init("limits: {maxFileSize: 9223372036854775808}", "1:23", "not \"9223372036854775808\""),
    .init(
      "limits: {maxFileSize: 9007199 TiB}",
      "1:23",
      "not \"9007199 TiB\"",
      schemaRefuses: false
    ),
    .init("limits: {uploadRate: fast}", "1:22", "uploadRate: expected a size"),
    .init("limits: {downloadRate: 0}", "1:24", "downloadRate: expected a size"),
    .init("limits: {maxFileCount: 0}", "1:24", "maxFileCount: expected a whole number"),
    .init("limits: {allowedTypes: png}", "1:24", "expected a list such as [a, b], found a single"),
    .init("limits: {allowedTypes: [png, ~]}", "1:30", "allowedTypes: expected file extensions"),
    .init("limits: {allowedTypes: [[png]]}", "1:25", "expected a single value, found a list"),
    .init("limits: {blockedTypes: ['e*e']}", "1:25", "blockedTypes: expected file extensions"),
    .init("limits: {blockedTypes: [image/p*]}", "1:25", "MIME patterns such as image/*"),
    .init("limits: {blockedTypes: ['*/png']}", "1:25", "MIME patterns such as image/*"),
    .init("limits: {blockedTypes: ['']}", "1:25", "blockedTypes: expected file extensions"),
    .init("limits:\n  roots:\n    - /a\n    - b", "4:7", "roots: expected absolute paths"),
    .init("remotes: []", "1:10", "remotes: expected a mapping of names to remotes, found a list"),
    .init("remotes: {}", "1:10", "remotes: names no remote", schemaRefuses: false),
    .init("remotes: {a: ~}", "1:10", "remotes: names no remote", schemaRefuses: false),
    .init("remotes:\n  a b: {kind: local, root: /r}", "2:3", "\"a b\" is no remote name"),
    .init("remotes: {.a: {kind: local, root: /r}}", "1:11", "\".a\" is no remote name"),
    .init("remotes: {a: local}", "1:14", "expected a mapping of keys, found a single value"),
    .init("remotes: {a: {root: /r}}", "1:14", "remote \"a\" has no kind; add kind: local"),
    .init("remotes: {a: {knid: local}}", "1:15", "unknown key \"knid\" (did you mean \"kind\"?)"),
    .init(
      "remotes: {a: {kind: ftp}}",
      "1:21",
      "kind \"ftp\" is not part of this version; it has: local, s3, pubnub"
    ),
    .init("remotes: {a: {kind: Local}}", "1:21", "kind \"Local\" is not part of this version"),
    .init(
      "remotes: {a: {kind: '${KIND}', root: /r}}",
      "1:21",
      "variable KIND is not set",
      schemaRefuses: false
    ),
    .init("remotes: {a: {kind: s3, bucket: b, root: /r}}", "1:36", "unknown key \"root\"; known"),
    .init("remotes: {a: {kind: s3, buket: b}}", "1:25", "(did you mean \"bucket\"?)"),
    .init("remotes: {a: {kind: s3}}", "1:14", "remote \"a\" has no bucket; add its name"),
    .init("remotes: {a: {kind: s3, bucket: a/b}}", "1:33", "bucket: expected the bucket's name"),
    .init(
      "remotes: {a: {kind: s3, bucket: ..}}",
      "1:33",
      "bucket: expected",
      schemaRefuses: false
    ),
    .init("remotes: {a: {kind: s3, bucket: b, endpoint: host}}", "1:46", "https://host or http"),
    .init("remotes: {a: {kind: s3, bucket: b, endpoint: 'https://h/b'}}", "1:46", "without path"),
    .init("remotes: {a: {kind: s3, bucket: b, endpoint: 'https://u@h'}}", "1:46", "without path"),
    .init(
      "remotes: {a: {kind: s3, bucket: b, endpoint: 'https://h:0'}}",
      "1:46",
      "without path",
      schemaRefuses: false
    ),
    .init(
      "remotes: {a: {kind: s3, bucket: b, endpoint: 'http://[::1'}}",
      "1:46",
      "without path",
      schemaRefuses: false
    ),
    .init("remotes: {a: {kind: s3, bucket: b, region: a b}}", "1:44", "region: expected a name"),
    .init("remotes: {a: {kind: s3, bucket: b, prefix: ''}}", "1:44", "value that is not empty"),
    .init(
      "remotes: {a: {kind: s3, bucket: b, accessKeyId: k}}",
      "1:14",
      "has no secretAccessKey; give both",
      schemaRefuses: false
    ),
    .init(
      "remotes: {a: {kind: s3, bucket: b, sessionToken: t}}",
      "1:14",
      "has no accessKeyId; give both",
      schemaRefuses: false
    ),
    .init("remotes: {a: {kind: s3, bucket: b, provider: azure}}", "1:46", "it has: auto, aws"),
    .init(
      "remotes: {a: {kind: s3, bucket: b, provider: minio}}",
      "1:14",
      "has no endpoint, and only AWS",
      schemaRefuses: false
    ),
    .init("remotes: {a: {kind: s3, bucket: b, addressing: dns}}", "1:48", "path, virtual"),
    .init("remotes: {a: {kind: s3, bucket: b, checksum: sha1}}", "1:46", "crc32c, md5, none"),
    .init(
      "remotes: {a: {kind: s3, bucket: b, partSize: 4 MiB}}",
      "1:46",
      "partSize: expected a size from 5 MiB to 5 GiB, not \"4 MiB\"",
      schemaRefuses: false
    ),
    .init(
      "remotes: {a: {kind: s3, bucket: b, pollInterval: 999ms}}",
      "1:50",
      "a time from 1s to 1h, not \"999ms\"",
      schemaRefuses: false
    ),
    .init("remotes: {a: {kind: s3, bucket: b, settleWindow: 60}}", "1:50", "from 10s to 1h"),
    .init("remotes: {a: {kind: s3, bucket: b, caFile: ca.pem}}", "1:44", "an absolute path"),
    .init("remotes: {a: {kind: s3, bucket: b, proxy: 'ftp://p'}}", "1:43", "none, or a URL"),
    .init("remotes: {a: {kind: s3, bucket: b, retries: 11}}", "1:45", "from 0 to 10, not \"11\""),
    .init("remotes: {a: {kind: pubnub, userId: u}}", "1:14", "has no subscribeKey; add it"),
    .init("remotes: {a: {kind: pubnub, subscribeKey: s}}", "1:14", "has no userId; add it"),
    .init("remotes: {a: {kind: pubnub, subscribekey: s, userId: u}}", "1:29", "\"subscribeKey\"?)"),
    .init("remotes: {a: {kind: pubnub, subscribeKey: 's/', userId: u}}", "1:43", "as PubNub's"),
    .init("remotes: {a: {kind: pubnub, subscribeKey: s, userId: ' '}}", "1:54", "not all of them"),
    .init(
      "remotes: {a: {kind: pubnub, subscribeKey: s, userId: u, secretKey: k}}",
      "1:14",
      "has a secretKey and no publishKey",
      schemaRefuses: false
    ),
    .init(
      "remotes: {a: {kind: pubnub, subscribeKey: s, userId: u, origin: ps.pndsn.com}}",
      "1:65",
      "https://host or http"
    ),
    .init(
      "remotes: {a: {kind: pubnub, subscribeKey: s, userId: u, publishRetryLimit: 0}}",
      "1:76",
      "from 1 to 20"
    ),
    .init(
      "remotes: {a: {kind: pubnub, subscribeKey: s, userId: u, crypto: {}}}",
      "1:65",
      "has no cipherKey; add it, or remove crypto"
    ),
    .init(
      "remotes: {a: {kind: pubnub, subscribeKey: s, userId: u, crypto: {cypherKey: k}}}",
      "1:66",
      "(did you mean \"cipherKey\"?)"
    ),
    .init(
      "remotes: {a: {kind: pubnub, subscribeKey: s, userId: u, crypto: {cipherKey: k, module: x}}}",
      "1:88",
      "it has: aesCbc, legacy"
    ),
    .init(
      "remotes: {a: {kind: pubnub, subscribeKey: s, userId: u, crypto: {cipherKey: k, randomIV: 1}}}",
      "1:90",
      "true or false"
    ),
    .init("remotes: {a: {kind: local, root: /r, crypto: {cipherKey: k}}}", "1:38", "\"crypto\""),
    .init("remotes: {a: {kind: s3, bucket: b, crypto: {cipherKey: k}}}", "1:36", "\"crypto\""),
    .init("remotes: {a: {kind: local}}", "1:14", "remote \"a\" has no root"),
    .init("remotes: {a: {kind: local, rot: /r}}", "1:28", "(did you mean \"root\"?)"),
    .init("remotes: {a: {kind: local, root: r}}", "1:34", "root: expected an absolute path"),
    .init("remotes: {a: {kind: local, root: ''}}", "1:34", "root: expected an absolute path"),
    .init(
      "remotes: {a: {kind: local, root: /r, bucket: b}}",
      "1:38",
      "unknown key \"bucket\"; known"
    ),
    .init("remotes: {a: {kind: local, root: /r, limits: {concurrency: 99}}}", "1:60", "not \"99\""),
    .init("remotes: {a: {kind: local, root: /r, limits: {x: 1}}}", "1:47", "unknown key \"x\""),
    .init(
      "remotes:\n  a: &x {kind: local, root: /r}\n  b: *x",
      "2:6",
      "write the value out",
      schemaRefuses: nil
    ),
    .init(
      "remotes: {a: {kind: local, root: /a}, b: {kind: local, root: /b}}",
      "1:1",
      "set default: to the remote to use where none is named, one of: a, b",
      schemaRefuses: false
    ),
    .init(
      "default: c\nremotes: {a: {kind: local, root: /a}, b: {kind: local, root: /b}}",
      "1:10",
      "no remote \"c\" (did you mean \"a\"?); there are: a, b",
      schemaRefuses: false
    ),
  ]
}

@Suite("Bad documents")
struct BadDocumentTests {
  @Test(
    "A bad document is refused with its line, its column and what to do",
    arguments: BadDocument.unreadable + BadDocument.wrong
  )
  func refused(_ document: BadDocument) throws {
    let error = try #require(throws: ConfigurationError.self) {
      try configuration(document.yaml)
    }
    let text = error.description
    #expect(text.hasPrefix("config.yaml:\(document.place): "), "\(text)")
    #expect(text.contains(document.words), "\(text)")
    #expect(!text.contains("\n"))
  }

  @Test(
    "No error shows what a variable holds, or the value of an unknown key",
    arguments: [
      "limits: {maxFileSize: '${SECRET}'}", "limits: {stallTimeout: '${SECRET}'}",
      "limits: {concurrency: '${SECRET}'}", "limits: {allowedTypes: ['*${SECRET}']}",
      "limits: {roots: ['${SECRET}']}", "stateDir: '${SECRET}'", "secretKey: hunter2",
      "remotes: {a: {kind: '${SECRET}', root: /r}}",
      "remotes: {a: {kind: local, root: '${SECRET}'}}",
      "remotes: {a: {kind: local, root: /r, accessToken: hunter2}}",
      "remotes: {a: {kind: s3, bucket: b, secretAccessKey: 'hunter2 x'}}",
      "remotes: {a: {kind: s3, bucket: b, secretAccessKey: '${SECRET}'}}",
      "remotes: {a: {kind: s3, bucket: b, proxy: 'u:${SECRET}@proxy'}}",
      "remotes: {a: {kind: s3, bucket: b, proxy: 'u:hunter2@proxy'}}",
      "remotes: {a: {kind: local, root: 'hunter2$'}}", "secretKey: 'hunter2", "hunter2",
      "secretKey: hunter2\n token: x", "[hunter2]", "default: !hunter2",
    ]
  )
  func keepsSecrets(_ yaml: String) throws {
    let environment = ["HOME": "/h", "SECRET": "hunter2"]
    let error = try #require(throws: ConfigurationError.self) {
      try configuration(yaml, environment)
    }
    #expect(!error.description.contains("hunter2"))
  }

  @Test("A key that is long or unprintable is shown cut and clean")
  func longKey() throws {
    let error = try #require(throws: ConfigurationError.self) {
      try configuration("\"\\e[31m\(String(repeating: "k", count: 500))\": 1")
    }
    #expect(error.message.hasPrefix("unknown key \"\u{FFFD}[31mkkk"))
    #expect(error.message.count < 200)
  }
}
