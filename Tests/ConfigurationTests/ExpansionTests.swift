import Testing

@testable import Configuration

@Suite("Expansion")
struct ExpansionTests {
  static let environment = [
    "HOME": "/home/ada", "A": "one", "B_2": "two", "EMPTY": "", "RAW": "${A} ~/ $$",
    "TILDE": "~/t", "_": "under",
  ]

  @Test(
    "Variables, defaults, dollars and the home folder are put in",
    arguments: [
      ("plain", "plain"), ("", ""), ("${A}", "one"), ("x${A}y${B_2}z", "xoneytwoz"),
      ("${_}", "under"),
      ("${EMPTY}", ""), ("${EMPTY:-d}", "d"), ("${NO:-d}", "d"), ("${NO:-}", ""),
      ("${A:-d}", "one"),
      ("${NO:-${A}}", "one"), ("${NO:-${NO2:-${B_2}}}", "two"), ("${NO:-a:-b}", "a:-b"),
      ("${A:-${NOT_ASKED}}", "one"), ("${NO:-{}", "{"), ("${NO:-a b}/c", "a b/c"),
      ("$$", "$"), ("$${A}", "${A}"), ("$$$$", "$$"), ("$$${A}", "$one"), ("${NO:-$$}", "$"),
      ("${NO:-$${A}}", "${A}"), ("${RAW}", "${A} ~/ $$"), ("a}b", "a}b"), ("{A}", "{A}"),
      ("~", "/home/ada"), ("~/", "/home/ada/"), ("~/x y", "/home/ada/x y"), ("a~/x", "a~/x"),
      ("~ada/x", "~ada/x"), ("${TILDE}", "/home/ada/t"),
      ("${NO:-~/.local}/ferry", "/home/ada/.local/ferry"),
      ("${NO:-\u{1F600}}", "\u{1F600}"), ("é${A}é", "éoneé"),
    ]
  )
  func expands(_ text: String, _ expected: String) throws {
    #expect(try Expansion.expand(text, environment: Self.environment) == expected)
  }

  @Test(
    "A variable without value and default is named",
    arguments: [
      ("${NO}", "NO"), ("a${NO:-${NO2}}", "NO2"), ("${A}${NO}${NO2}", "NO"), ("${a}", "a"),
    ]
  )
  func missing(_ text: String, _ name: String) {
    #expect(throws: Expansion.Failure.missing(variable: name)) {
      try Expansion.expand(text, environment: Self.environment)
    }
  }

  @Test("The home folder must be known where it is needed", arguments: [[:], ["HOME": ""]])
  func homeless(_ environment: [String: String]) throws {
    #expect(throws: Expansion.Failure.missing(variable: "HOME")) {
      try Expansion.expand("~/x", environment: environment)
    }
    #expect(try Expansion.expand("/x", environment: environment) == "/x")
  }

  @Test("A home folder that is the root gives no double slash")
  func rootHome() throws {
    #expect(try Expansion.expand("~/x", environment: ["HOME": "/"]) == "/x")
  }

  @Test(
    "What is written wrongly is refused",
    arguments: [
      "$", "a$", "$A", "$ {A}", "${", "${A", "${A:-x", "${A:-${B_2}", "${}", "${:-x}", "${A-x}",
      "${A:x}",
      "${1}", "${A B}", "${Ä}", "${${A}}", "${A:+x}", "$(id)",
    ]
  )
  func malformed(_ text: String) throws {
    let error = try #require(throws: Expansion.Failure.self) {
      try Expansion.expand(text, environment: Self.environment)
    }
    guard case .malformed = error else {
      Issue.record("\(error)")
      return
    }
  }

  @Test("Defaults nest up to a bound")
  func nesting() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "${NO:-", count: depth) + "x" + String(repeating: "}", count: depth)
    }
    #expect(try Expansion.expand(nested(8), environment: [:]) == "x")
    for depth in [9, 100_000] {
      #expect(throws: Expansion.Failure.malformed("defaults nest too deep")) {
        try Expansion.expand(nested(depth), environment: [:])
      }
    }
  }
}
