import Glibc
import Testing

@testable import Configuration

@Suite("Lookup")
struct LookupTests {
  @Test("The argument beats the variable, which beats the user's folders; the first found wins")
  func order() throws {
    var folder = try TemporaryFolder()
    let argument = try folder.write("argument.yaml", "")
    let variable = try folder.write("variable.yaml", "")
    let xdg = try folder.write("xdg/ferry/config.yaml", "")
    let dotConfig = try folder.write("home/.config/ferry/config.yaml", "")
    var environment = [
      "FERRY_CONFIG": variable, "XDG_CONFIG_HOME": folder.path + "/xdg",
      "HOME": folder.path + "/home",
    ]
    func located(_ path: String?) throws -> String? {
      try Configuration.locate(explicitPath: path, environment: environment)
    }
    #expect(try located(argument) == argument)
    #expect(try located(nil) == variable)
    environment["FERRY_CONFIG"] = ""
    #expect(try located(nil) == xdg)
    environment["XDG_CONFIG_HOME"] = nil
    #expect(try located(nil) == dotConfig)
    environment["XDG_CONFIG_HOME"] = folder.path
    #expect(try located(nil) == nil)
  }

  @Test(
    "A file of the working directory is never taken",
    arguments: [
      [:], ["XDG_CONFIG_HOME": "."], ["XDG_CONFIG_HOME": ""], ["HOME": ""], ["HOME": "."],
      ["XDG_CONFIG_HOME": "xdg", "HOME": "relative"],
    ]
  )
  func neverHere(_ environment: [String: String]) throws {
    #expect(try Configuration.locate(explicitPath: nil, environment: environment) == nil)
  }

  @Test("A file that was named must be there, and the error says who named it")
  func named() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/none.yaml"
    let byArgument = try #require(throws: ConfigurationError.self) {
      try Configuration.locate(explicitPath: path, environment: ["FERRY_CONFIG": "/dev/null"])
    }
    #expect(
      byArgument.description.hasPrefix("\(path): No such file or directory (named by --config);")
    )
    let byVariable = try #require(throws: ConfigurationError.self) {
      try Configuration.locate(explicitPath: nil, environment: ["FERRY_CONFIG": path])
    }
    #expect(byVariable.message.hasPrefix("No such file or directory (named by FERRY_CONFIG);"))
    #expect(throws: ConfigurationError.self) {
      try Configuration.locate(explicitPath: "", environment: home)
    }
  }

  @Test("A file is read whole, and named in its errors")
  func reads() throws {
    var folder = try TemporaryFolder()
    let comments = String(repeating: "# padding that fills more than one read\n", count: 5_000)
    let good = try folder.write("good.yaml", comments + "limits: {concurrency: 9}\n")
    let configuration = try Configuration.load(file: good, environment: home)
    #expect(configuration.limits.concurrency == 9)
    #expect(configuration.sourceName == good)
    let bad = try folder.write("bad.yaml", comments + "limit: {}\n")
    let error = try #require(throws: ConfigurationError.self) {
      try Configuration.load(file: bad, environment: home)
    }
    #expect(error.location == .text(file: bad, line: 5_001, column: 1))
  }

  @Test("What cannot be read is an error in the system's words")
  func unreadable() throws {
    let folder = try TemporaryFolder()
    for (path, words) in [
      (folder.path, "cannot be read: Is a directory"),
      (folder.path + "/none", "cannot be opened: No such file or directory"),
      ("/dev/zero", "is longer than 1 MiB"),
    ] {
      let error = try #require(throws: ConfigurationError.self) {
        try Configuration.load(file: path, environment: home)
      }
      #expect(error.description.hasPrefix("\(path): \(words)"), "\(error)")
    }
  }
}
