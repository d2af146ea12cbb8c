import Testing
import TransferModel

@testable import Configuration

@Suite("Loading")
struct LoadingTests {
  @Test(
    "The annotated sample equals what is built in",
    arguments: [
      home, ["HOME": "/h", "XDG_STATE_HOME": "/state", "XDG_DATA_HOME": "/data"],
    ]
  )
  func sample(_ environment: [String: String]) throws {
    let sample = try Configuration.parse(
      repositoryFile("config.yaml"),
      file: "config.yaml",
      environment: environment
    )
    let builtIn = try Configuration.builtIn(environment: environment)
    #expect(sample.defaultRemote == builtIn.defaultRemote)
    #expect(sample.stateDirectory == builtIn.stateDirectory)
    #expect(sample.remotes == builtIn.remotes)
    #expect(sample.limits == builtIn.limits)
  }

  @Test("Without a file there is the remote local below the user's folders")
  func builtIn() throws {
    let configuration = try Configuration.builtIn(environment: home)
    #expect(configuration.defaultRemote == "local")
    #expect(configuration.stateDirectory == "/home/ada/.local/state/ferry")
    #expect(configuration.remotes.map(\.name) == ["local"])
    #expect(
      try configuration.remotes[0].resolve() == .local(root: "/home/ada/.local/share/ferry")
    )
    #expect(configuration.limits == Limits())
    #expect(configuration.sourceName == nil)
  }

  @Test(
    "A document that says nothing changes nothing",
    arguments: [
      "", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "null", "~", "{}", "\u{FEFF}",
      "\u{FEFF}{}",
      "default:\nstateDir: ~\nremotes: null\nlimits: NULL",
      "limits: {concurrency: ~, maxFileSize: null, allowedTypes: , roots: Null}",
    ]
  )
  func empty(_ yaml: String) throws {
    let builtIn = try Configuration.builtIn(environment: home)
    let configuration = try configuration(yaml)
    #expect(configuration.remotes == builtIn.remotes)
    #expect(configuration.limits == builtIn.limits)
    #expect(configuration.stateDirectory == builtIn.stateDirectory)
    #expect(configuration.defaultRemote == "local")
    #expect(configuration.sourceName == "config.yaml")
  }

  @Test("Every limit is read")
  func limits() throws {
    let limits = try configuration(
      """
      limits:
        concurrency: 64
        stallTimeout: 1.5s
        maxFileSize: 5 MiB
        maxFileCount: "10"
        allowedTypes: [PNG, .Jpeg, 7z, 3, no, Image/*, "*/*", application/vnd.x+json, tar.gz]
        blockedTypes: [exe]
        uploadRate: 1 MB
        downloadRate: 9223372036854775807
        roots: [~/a, "/b c", "${D:-/d}"]
      """
    ).limits
    #expect(limits.concurrency == 64)
    #expect(limits.stallTimeout == .milliseconds(1500))
    #expect(limits.maxFileSize == 5_242_880)
    #expect(limits.maxFileCount == 10)
    #expect(
      limits.allowedTypes == [
        "png", "jpeg", "7z", "3", "no", "image/*", "*/*", "application/vnd.x+json", "tar.gz",
      ]
    )
    #expect(limits.blockedTypes == ["exe"])
    #expect(limits.uploadRate == 1_000_000)
    #expect(limits.downloadRate == .max)
    #expect(limits.roots == ["/home/ada/a", "/b c", "/d"])
  }

  @Test("A remote's limits are laid over the global ones key by key, and null means none there")
  func remoteLimits() throws {
    let configuration = try configuration(
      """
      default: a
      limits: {concurrency: 2, maxFileSize: 100, allowedTypes: [png], uploadRate: 5, roots: [/r]}
      remotes:
        a: {kind: local, root: /a}
        b: {kind: local, root: /b, limits: {concurrency: 3, maxFileSize: ~, roots: [], uploadRate: 6}}
        c: {kind: local, root: /c, limits: {concurrency: ~, allowedTypes: ~, blockedTypes: [exe]}}
      """
    )
    var expected = configuration.limits
    #expect(configuration.remote(named: "a")?.limits == expected)
    expected.concurrency = 3
    expected.maxFileSize = nil
    expected.roots = []
    expected.uploadRate = 6
    #expect(configuration.remote(named: "b")?.limits == expected)
    expected = configuration.limits
    expected.blockedTypes = ["exe"]
    #expect(configuration.remote(named: "c")?.limits == expected)
    #expect(configuration.remote(named: "d") == nil)
  }

  @Test(
    "The default is the one named, else the only one, else local",
    arguments: [
      ("default: b\nremotes: {a: {kind: local, root: /a}, b: {kind: local, root: /b}}", "b"),
      ("default: ${D}\nremotes: {a: {kind: local, root: /a}, b: {kind: local, root: /b}}", "b"),
      ("remotes: {a: {kind: local, root: /a}}", "a"),
      ("remotes: {a: {kind: local, root: /a}, local: {kind: local, root: /b}}", "local"),
      ("remotes: {a: {kind: local, root: /a}, b: ~}", "a"),
    ]
  )
  func defaultRemote(_ yaml: String, _ expected: String) throws {
    #expect(try configuration(yaml, ["HOME": "/h", "D": "b"]).defaultRemote == expected)
  }

  @Test("Remotes keep their order, and names their spelling")
  func order() throws {
    let names = ["zeta", "Alpha", "no", "true", "1", "a.b-c_d", String(repeating: "x", count: 64)]
    let yaml =
      "default: no\nremotes:\n"
      + names.map { "  \($0): {kind: local, root: /\($0)}\n" }.joined()
    #expect(try configuration(yaml).remotes.map(\.name) == names)
    #expect(try configuration(yaml).defaultRemote == "no")
  }

  @Test(
    "Scalars of every style are values",
    arguments: [
      "stateDir: ~/s", "stateDir: '~/s'", "stateDir: \"~/s\"", "stateDir: \"\\x7e/s\"",
      "stateDir: |-\n  ~/s",
      "stateDir: >-\n  ~/s", "stateDir:\n  ~/s", "{stateDir: ~/s}", "? stateDir\n: ~/s",
      "stateDir: \"${H}/s\"", "stateDir: ${H}/s", "%YAML 1.2\n---\nstateDir: ~/s",
      "stateDir: ~/s\r\n",
    ]
  )
  func styles(_ yaml: String) throws {
    let environment = ["HOME": "/home/ada", "H": "/home/ada"]
    #expect(try configuration(yaml, environment).stateDirectory == "/home/ada/s")
  }

  @Test(
    "A missing variable of a remote is an error when the remote is used, with all that is needed"
  )
  func missingLater() throws {
    let configuration = try configuration(
      """
      remotes:
        local: {kind: local, root: /r}
        other:
          kind: local
          root: ${ROOT}/${SUB}
          limits: {uploadRate: "${RATE}"}
      """
    )
    #expect(try configuration.remotes[0].resolve() == .local(root: "/r"))
    let error = try #require(throws: TransferError.self) {
      try configuration.remotes[1].resolve()
    }
    #expect(error.code == .config)
    #expect(error.field == "/remote")
    #expect(
      error.message.hasPrefix(
        "remote \"other\" needs environment variables that are not set: RATE (config.yaml:6:26), "
          + "ROOT (config.yaml:5:11); set them"
      )
    )
  }

  @Test("Without HOME the built-in folders are an error that says so, and absolute ones work")
  func homeless() throws {
    let error = try #require(throws: ConfigurationError.self) {
      try Configuration.builtIn(environment: [:])
    }
    #expect(
      error.description.hasPrefix("built-in configuration: environment variable HOME is not set")
    )
    let absolute = try configuration("{stateDir: /s, remotes: {a: {kind: local, root: /r}}}", [:])
    #expect(absolute.stateDirectory == "/s")
    let xdg = try Configuration.builtIn(environment: ["XDG_STATE_HOME": "/s"])
    #expect(xdg.remotes[0].missing == [MissingVariable(name: "HOME", location: .builtIn)])
  }

  @Test("The report names the file, the remotes, changed limits and missing variables")
  func report() throws {
    let yaml = """
      default: a
      limits: {concurrency: 8, blockedTypes: [exe]}
      remotes:
        a: {kind: local, root: /a}
        b: {kind: local, root: "${B_ROOT}", limits: {maxFileSize: 1 KiB}}
      """
    #expect(
      try configuration(yaml).checkReport == """
        configuration: config.yaml
        state folder: /home/ada/.local/state/ferry
        limits: concurrency 8, blockedTypes [exe]
        remote a (local, default): /a
        remote b (local)
          limits: maxFileSize 1024
        warning: config.yaml:5:26: remote "b" needs environment variable B_ROOT, which is not set

        """
    )
    #expect(
      try Configuration.builtIn(environment: home).checkReport == """
        configuration: built in (no file found)
        state folder: /home/ada/.local/state/ferry
        limits: as built in
        remote local (local, default): /home/ada/.local/share/ferry

        """
    )
  }
}
