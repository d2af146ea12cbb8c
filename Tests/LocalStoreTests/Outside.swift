import Foundation
import Glibc
import SQLite

/// Runs SQL on an index as another program would, and gives the first column of its rows as text.
func sqlite(_ path: String, _ sql: String) throws -> [String] {
  try Database(path: path).all(sql) { $0.text(0) }
}

/// Another process that runs one test of this bundle, which looks at the environment to know that
/// it is to work as a child.
final class Child: Sendable {
  private let process = Process()
  private let exits: AsyncStream<Int32>
  private let log: String

  init(running test: String, environment: [String: String]) throws {
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    var arguments = Array(CommandLine.arguments.dropFirst())
    while let filter = arguments.firstIndex(of: "--filter") {
      arguments.removeSubrange(filter...filter + 1)
    }
    process.arguments = arguments + ["--filter", test]
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    log = "/tmp/ferry-child-\(UUID().uuidString)"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    let output = FileHandle(forWritingAtPath: log)
    process.standardOutput = output
    process.standardError = output
    let (exits, exited) = AsyncStream<Int32>.makeStream()
    self.exits = exits
    process.terminationHandler = { exited.yield($0.terminationStatus) }
    try process.run()
  }

  deinit { unlink(log) }

  /// Kills it as kill -9 does and waits for its end.
  func kill() async {
    Glibc.kill(process.processIdentifier, SIGKILL)
    _ = await wait()
  }

  /// Waits for its end without blocking a thread; its exit code and output.
  func wait() async -> (code: Int32, output: String) {
    for await code in exits {
      return (code, (try? String(contentsOfFile: log, encoding: .utf8)) ?? "")
    }
    return (-1, "")
  }
}
