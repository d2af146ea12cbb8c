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
      ("", "#"), ("remote", "#/$defs/remote"), ("limits", "#/$defs/limits"),
    ]
  )
  func sameKeys(_ section: String, _ reference: String) throws {
    let decoding = Decoding(environment: home)
    _ = try Configuration(
      ConfigNode(content: .mapping([]), location: .builtIn),
      decoding,
      sourceName: nil
    )
    #expect(Set(decoding.knownKeys.keys) == ["", "remote", "limits"])
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
      #expect(try accepts("remotes: {a: {kind: \(kind.rawValue), root: /r}}"))
    }
    #expect(try !accepts("remotes: {a: {kind: s3, root: /r}}"))
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
