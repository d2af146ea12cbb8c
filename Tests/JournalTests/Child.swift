import Foundation
import Glibc

/// Another process that runs one suite of this bundle, which looks at the environment to know that
/// it is to work as a child.
final class Child: Sendable {
  private let process = Process()
  /// What it prints, line by line, until it has ended.
  let lines: AsyncStream<Substring>

  init(running suite: String, environment: [String: String]) throws {
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    var arguments = Array(CommandLine.arguments.dropFirst())
    while let filter = arguments.firstIndex(of: "--filter") {
      arguments.removeSubrange(filter...filter + 1)
    }
    process.arguments = arguments + ["--filter", suite]
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let output = Pipe()
    process.standardOutput = output
    let (lines, line) = AsyncStream<Substring>.makeStream()
    self.lines = lines
    try process.run()
    Thread {
      var text = Data()
      while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
        text += data
        guard let end = text.lastIndex(of: 10) else { continue }
        for part in String(decoding: text[...end], as: UTF8.self).split(separator: "\n") {
          line.yield(part)
        }
        text = text.suffix(from: end + 1)
      }
      line.finish()
    }.start()
  }

  /// Kills it as kill -9 does.
  func kill() { Glibc.kill(process.processIdentifier, SIGKILL) }
}
