import JSON
import Testing

@testable import Configuration

@Suite("Merging")
struct MergingTests {
  static let file = """
    default: a
    stateDir: /state
    remotes:
      a: {kind: local, root: /a, limits: {concurrency: 2}}
      b: {kind: local, root: /b}
    limits: {maxFileSize: 100, blockedTypes: [exe, bat]}
    """

  private func merged(
    _ json: String,
    onto yaml: String = Self.file
  ) throws -> Configuration {
    try configuration(yaml).merging(JSONNode(parsing: Array(json.utf8)))
  }

  @Test("Mappings merge by key, everything else is replaced")
  func merges() throws {
    let merged = try merged(
      """
      {"default": "b", "remotes": {"a": {"limits": {"uploadRate": 5}}, "c": {"kind": "local", "root": "~/c"}},
       "limits": {"blockedTypes": ["com"], "concurrency": 3.0}}
      """
    )
    #expect(merged.defaultRemote == "b")
    #expect(merged.stateDirectory == "/state")
    #expect(merged.sourceName == "config.yaml")
    #expect(merged.remotes.map(\.name) == ["a", "b", "c"])
    #expect(merged.limits.maxFileSize == 100)
    #expect(merged.limits.blockedTypes == ["com"])
    #expect(merged.limits.concurrency == 3)
    let first = merged.remotes[0]
    #expect(try first.resolve() == .local(root: "/a"))
    #expect(first.limits.concurrency == 2)
    #expect(first.limits.uploadRate == 5)
    #expect(first.limits.blockedTypes == ["com"])
    #expect(try merged.remotes[2].resolve() == .local(root: "/home/ada/c"))
  }

  @Test("Null takes a value back to what is built in, and a remote away")
  func nulls() throws {
    let merged = try merged(
      """
      {"default": null, "stateDir": null, "remotes": {"a": null},
       "limits": {"maxFileSize": null, "blockedTypes": null}}
      """
    )
    #expect(merged.defaultRemote == "b")
    #expect(merged.stateDirectory == "/home/ada/.local/state/ferry")
    #expect(merged.remotes.map(\.name) == ["b"])
    #expect(merged.limits == Limits())
    #expect(try self.merged(#"{"limits": null}"#).limits == Limits())
    #expect(
      try self.merged(#"{"default": null, "remotes": null}"#).remotes.map(\.name) == ["local"]
    )
  }

  @Test("Nothing given changes nothing", arguments: ["{}", "null", #"{"remotes": {}}"#])
  func nothing(_ json: String) throws {
    let before = try configuration(Self.file)
    let after = try merged(json)
    #expect(after.remotes == before.remotes)
    #expect(after.limits == before.limits)
    #expect(after.defaultRemote == before.defaultRemote)
  }

  @Test(
    "Without a file the built-in remote is laid over",
    arguments: ["", "limits: {}", "remotes: ~"]
  )
  func ontoBuiltIn(_ yaml: String) throws {
    let json = #"{"remotes": {"local": {"root": "/mine"}, "x": {"kind": "local", "root": "/x"}}}"#
    let merged = try merged(json, onto: yaml)
    #expect(merged.remotes.map(\.name) == ["local", "x"])
    #expect(merged.defaultRemote == "local")
    #expect(try merged.remotes[0].resolve() == .local(root: "/mine"))
  }

  @Test("A second merge is laid over the first")
  func twice() throws {
    let merged = try merged(#"{"limits": {"concurrency": 7}}"#)
      .merging(JSONNode(parsing: Array(#"{"limits": {"maxFileCount": 3}}"#.utf8)))
    #expect(merged.limits.concurrency == 7)
    #expect(merged.limits.maxFileCount == 3)
    #expect(merged.limits.maxFileSize == 100)
  }

  @Test(
    "What is wrong is named by its JSON pointer, or by its line where the file is wrong",
    arguments: [
      ("[]", "/config: expected an object of configuration keys, found a list"),
      ("\"x\"", "/config: expected an object of configuration keys, found a single value"),
      (#"{"romotes": {}}"#, "/config/romotes: unknown key \"romotes\" (did you mean \"remotes\"?)"),
      (#"{"limits": {"maxFileSize": "5 X"}}"#, "/config/limits/maxFileSize: maxFileSize: expected"),
      (#"{"limits": {"maxFileSize": 1.5}}"#, "/config/limits/maxFileSize: maxFileSize: expected"),
      (#"{"limits": {"maxFileSize": true}}"#, "/config/limits/maxFileSize: maxFileSize: expected"),
      (#"{"limits": {"roots": ["/a", "b"]}}"#, "/config/limits/roots/1: roots: expected"),
      (#"{"remotes": {"a~/": {}}}"#, "/config/remotes/a~0~1: \"a~/\" is no remote name"),
      (#"{"remotes": {"c": {"kind": "s4"}}}"#, "/config/remotes/c/kind: kind \"s4\" is not part"),
      (#"{"remotes": {"c": {"kind": "local"}}}"#, "/config/remotes/c: remote \"c\" has no root"),
      (#"{"limits": {}, "limits": {}}"#, "/config/limits: is given twice"),
      (#"{"limits": {"roots": [{"x": 1, "x": 2}]}}"#, "/config/limits/roots/0/x: is given twice"),
      (#"{"remotes": {"a": {"root": null}}}"#, "config.yaml:4:6: remote \"a\" has no root"),
      (#"{"remotes": {"a": {"kind": null}}}"#, "config.yaml:4:6: remote \"a\" has no kind"),
      (#"{"stateDir": "${NOWHERE}"}"#, "/config/stateDir: environment variable NOWHERE is not set"),
      (#"{"stateDir": "/a\u0000b"}"#, "/config/stateDir: contains a NUL character"),
      (
        #"{"default": "${"}"#,
        "/config/default: cannot expand this value: a ${ is not closed by a }"
      ),
    ]
  )
  func refused(_ json: String, _ words: String) throws {
    let error = try #require(throws: ConfigurationError.self) { try merged(json) }
    #expect(error.description.hasPrefix(words), "\(error)")
  }

  @Test("A deep object is refused at a bound")
  func deep() throws {
    let json = String(repeating: "{\"a\":", count: 100) + "1" + String(repeating: "}", count: 100)
    let error = try #require(throws: ConfigurationError.self) { try merged(json) }
    #expect(error.message == "is nested deeper than 32 levels; flatten it")
  }
}
