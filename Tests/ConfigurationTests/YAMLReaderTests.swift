import Glibc
import Testing

@testable import Configuration

@Suite("Hostile and heavy documents")
struct YAMLReaderTests {
  private func failure(_ bytes: [UInt8]) throws -> ConfigurationError {
    try #require(throws: ConfigurationError.self) {
      try YAMLReader.read(bytes, file: "f")
    }
  }

  @Test(
    "What is not UTF-8 is refused at its character",
    arguments: [
      ("", [0xFF], "f:1:1"), ("a: \u{e9}\nb: \u{1F600}x", [0xC3, 0x28], "f:2:6"),
      ("a: ", [0xED, 0xA0, 0x80], "f:1:4"),
      ("a: ", [0xF0, 0x9F, 0x98], "f:1:4"), ("a: ", [0xC0, 0x80], "f:1:4"),
      ("", [0xFE, 0xFF, 0, 0x61], "f:1:1"),
    ] as [(String, [UInt8], String)]
  )
  func notUTF8(_ before: String, _ bad: [UInt8], _ place: String) throws {
    let error = try failure(Array(before.utf8) + bad)
    #expect(error.description == "\(place): is not UTF-8 here; save the file as UTF-8")
  }

  @Test(
    "Nesting is bounded, whatever its depth",
    arguments: [
      ("[", 34), ("[", 1 << 20), ("{a: ", 33), ("{a: ", 200_000), ("- ", 33), ("- ", 500_000),
      ("? ", 500_000),
    ]
  )
  func deep(_ opening: String, _ count: Int) throws {
    let error = try failure(Array(String(repeating: opening, count: count).utf8))
    #expect(!error.message.isEmpty)
    if opening == "[" {
      #expect(error.description == "f:1:34: is nested deeper than 32 levels; flatten it")
    }
  }

  @Test("Thirty-two levels are read")
  func deepEnough() throws {
    let text = String(repeating: "[", count: 33) + String(repeating: "]", count: 33)
    #expect(throws: ConfigurationError.self) {
      try YAMLReader.read(Array("[\(text)]".utf8), file: "f")
    }
    #expect(try YAMLReader.read(Array(text.utf8), file: "f") != nil)
  }

  @Test("Aliases that would grow without bound are refused at the first anchor")
  func aliasBomb() throws {
    var text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for level in 1...30 {
      let alias = "*a\(level - 1)"
      text +=
        "a\(level): &a\(level) [" + Array(repeating: alias, count: 9).joined(separator: ", ")
        + "]\n"
    }
    #expect(try failure(Array(text.utf8)).location == .text(file: "f", line: 1, column: 5))
  }

  @Test("A file over a mebibyte is refused, one of exactly that is read")
  func size() throws {
    let padding = [UInt8](repeating: UInt8(ascii: "#"), count: YAMLReader.maxBytes)
    #expect(try YAMLReader.read(padding, file: "f") == nil)
    #expect(try failure(padding + [UInt8(ascii: "#")]).message.hasPrefix("is longer than 1 MiB"))
  }

  @Test("Ten thousand documents, good and bad, leave no memory behind")
  func leaks() throws {
    let documents = [
      "default: local\nlimits: {roots: [/a, /b], maxFileSize: 5 MiB}\n", "limits: {a: &x b}",
      "a: [1", "a: \"x",
      "a: !t b", "[[[[[[[[", "a: 1\na: 2\n", "a\n---\nb",
    ].map { Array(("long: '" + String(repeating: "x", count: 2_000) + "'\n" + $0).utf8) }
    func parseAll(_ rounds: Int) {
      for _ in 0..<rounds {
        for document in documents {
          // Whether it is refused does not matter here; what is kept does.
          _ = try? YAMLReader.read(document, file: "f")
        }
      }
    }
    parseAll(100)
    // Tests that run meanwhile take memory too, so one quiet round decides; a leak of one event
    // or buffer per document would be 20 MB in each.
    let growths = try (0..<5).map { _ in
      let before = try residentBytes()
      parseAll(10_000 / documents.count)
      return try residentBytes() - before
    }
    #expect(growths.contains { $0 < 2 << 20 }, "grew by \(growths) bytes")
  }

  /// What the whole process occupies.
  private func residentBytes() throws -> Int {
    let statm = try ConfigurationFile.read("/proc/self/statm")
    let pages = try #require(
      String(decoding: statm, as: UTF8.self).split(separator: " ").dropFirst().first
    )
    return try #require(Int(pages)) * sysconf(Int32(_SC_PAGESIZE))
  }
}
