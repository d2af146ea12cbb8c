import Foundation
import Glibc
import SQLite
import Testing

/// Runs SQL on an index as another program would, and gives the first column of its rows as text.
func sqlite(_ path: String, _ sql: String) throws -> [String] {
  try Database(path: path).all(sql) { $0.text(0) }
}

/// Another process that runs one test of this bundle, which looks at the environment to know that
/// it is to work as a child.
///
/// Spawned by hand: Foundation's `Process` may miss the end of one of two that start at once.
final class Child: Sendable {
  private let process: pid_t
  private let ended: AsyncStream<Int32>
  private let log = "/tmp/ferry-child-\(UUID().uuidString)"

  init(running test: String, environment: [String: String]) throws {
    var arguments = CommandLine.arguments
    while let filter = arguments.firstIndex(of: "--filter") {
      arguments.removeSubrange(filter...filter + 1)
    }
    arguments += ["--filter", test]
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var words = arguments.map { strdup($0) } + [nil]
    var settings = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { for word in words + settings { free(word) } }
    var number: pid_t = 0
    let code = posix_spawn(&number, "/proc/self/exe", &actions, nil, &words, &settings)
    try #require(code == 0)
    let process = number
    self.process = process
    let (ended, end) = AsyncStream<Int32>.makeStream()
    self.ended = ended
    Thread.detachNewThread {
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0 && errno == EINTR {}
      end.yield(status)
    }
  }

  deinit { unlink(log) }

  /// Kills it as kill -9 does and waits for its end.
  func kill() async {
    Glibc.kill(process, SIGKILL)
    _ = await wait()
  }

  /// Waits for its end without blocking a thread of the tests; its wait status, 0 for success, and
  /// its output.
  func wait() async -> (status: Int32, output: String) {
    for await status in ended {
      return (status, (try? String(contentsOfFile: log, encoding: .utf8)) ?? "")
    }
    return (-1, "")
  }
}
