internal import JSON
internal import JSONRPC
internal import SidecarServer

/// The command line, read and checked.
enum Arguments {
  case serve(ServeOptions)
  case checkConfig(path: String?)
  case doctor(path: String?)
  case schema
  case version
  case help
  case nothing

  /// The options of `ferry serve`.
  struct ServeOptions {
    var config: String?
    var framing = InputFraming.auto
    var parentPID: Int32?
    var logLevel = Log.Level.warn
    var logFile: String?
    var traceFile: String?
    var enablesTestMethods = false
  }

  /// Why a command line is not understood.
  struct Misuse: Error {
    let message: String
  }

  private static let commands = ["serve", "check-config", "doctor", "schema", "help", "version"]
  private static let serveOptions = [
    "--config", "--framing", "--parent-pid", "--log-level", "--log-file", "--trace-rpc",
    "--enable-test-methods", "--help",
  ]

  init(_ arguments: [String]) throws(Misuse) {
    guard let command = arguments.first else {
      self = .nothing
      return
    }
    let rest = Array(arguments.dropFirst())
    if rest.contains("--help") || rest.contains("-h") {
      self = .help
      return
    }
    switch command {
    case "serve": self = .serve(try Self.serve(rest))
    case "check-config": self = .checkConfig(path: try Self.path(rest, of: command))
    case "doctor": self = .doctor(path: try Self.path(rest, of: command))
    case "schema":
      try Self.requireNothing(rest, of: command)
      self = .schema
    case "--version", "-V", "version":
      try Self.requireNothing(rest, of: command)
      self = .version
    case "--help", "-h", "help": self = .help
    case "send", "get", "list", "watch", "put", "cat", "ls", "rm":
      throw Misuse(
        message: "\(command) is a command of the Python client: python3 -m ferry \(command) --help"
      )
    default:
      throw Misuse(
        message: "there is no command \"\(command)\"\(Self.hint(command, Self.commands))"
      )
    }
  }

  private static func serve(_ arguments: [String]) throws(Misuse) -> ServeOptions {
    var options = ServeOptions()
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      // Both `--name value` and `--name=value`.
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      guard serveOptions.contains(name) else {
        throw Misuse(
          message: "serve has no option \"\(name)\"\(hint(name, serveOptions))"
        )
      }
      if name == "--enable-test-methods" {
        guard parts.count == 1 else { throw Misuse(message: "\(name) takes no value") }
        options.enablesTestMethods = true
        continue
      }
      guard let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() else {
        throw Misuse(message: "\(name) needs a value")
      }
      try set(name, value, in: &options)
    }
    return options
  }

  private static func set(
    _ name: String,
    _ value: String,
    in options: inout ServeOptions
  ) throws(Misuse) {
    switch name {
    case "--config": options.config = value
    case "--log-file": options.logFile = value
    case "--trace-rpc": options.traceFile = value
    case "--framing":
      switch value {
      case "auto": options.framing = .auto
      case "ndjson": options.framing = .ndjson
      case "lsp": options.framing = .lsp
      default: throw Misuse(message: "--framing is auto, ndjson or lsp, not \"\(value)\"")
      }
    case "--parent-pid":
      guard let pid = Int32(value), pid > 0 else {
        throw Misuse(message: "--parent-pid needs a process id, not \"\(value)\"")
      }
      options.parentPID = pid
    case "--log-level":
      guard let level = Log.Level(name: value) else {
        throw Misuse(message: "--log-level is error, warn, info or debug, not \"\(value)\"")
      }
      options.logLevel = level
    default: preconditionFailure("\(name) is listed and not handled")
    }
  }

  private static func path(_ rest: [String], of command: String) throws(Misuse) -> String? {
    var rest = rest
    if rest.first == "--config" { rest.removeFirst() }
    guard rest.count <= 1 else {
      throw Misuse(message: "\(command) takes one file, not \(rest.count)")
    }
    if let option = rest.first, option.hasPrefix("-") {
      throw Misuse(message: "\(command) has no option \"\(option)\"")
    }
    return rest.first
  }

  private static func requireNothing(_ rest: [String], of command: String) throws(Misuse) {
    if let extra = rest.first {
      throw Misuse(message: "\(command) takes nothing more, not \"\(extra)\"")
    }
  }

  private static func hint(_ word: String, _ known: [String]) -> String {
    NearestName.find(word, in: known).map { "; did you mean \($0)" }
      ?? "; there are: \(known.joined(separator: ", "))"
  }
}
