internal import CLinux
internal import Configuration
internal import Glibc
internal import JSONRPC
internal import SidecarServer

/// A line on stderr.
func tell(_ line: String) {
  let bytes = Array("ferry: \(line)\n".utf8)
  write(2, bytes, bytes.count)
}

/// Says why and ends: usage and configuration errors.
func refuse(_ message: String) -> Never {
  tell(message)
  exit(2)
}

func currentDirectory() -> String {
  guard let path = getcwd(nil, 0) else { refuse("the working directory is gone") }
  defer { free(path) }
  return String(cString: path)
}

/// The configuration a command line and the environment ask for.
func configuration(_ explicitPath: String?) -> Configuration {
  do throws(ConfigurationError) {
    let environment = environmentVariables()
    guard
      let file = try Configuration.locate(explicitPath: explicitPath, environment: environment)
    else { return try Configuration.builtIn(environment: environment) }
    return try Configuration.load(file: file, environment: environment)
  } catch {
    refuse(error.description)
  }
}

func environmentVariables() -> [String: String] {
  var variables: [String: String] = [:]
  var entry = clinux_environ()
  while let text = entry?.pointee {
    let parts = String(cString: text).split(
      separator: "=",
      maxSplits: 1,
      omittingEmptySubsequences: false
    )
    if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
    entry = entry?.successor()
  }
  return variables
}

func log(_ options: Arguments.ServeOptions) -> Log {
  guard let file = options.logFile else { return Log(level: options.logLevel) }
  return Log(descriptor: openToAppend(file, "log"), level: options.logLevel)
}

func trace(_ options: Arguments.ServeOptions) -> Trace? {
  guard let file = options.traceFile else { return nil }
  let descriptor = openToAppend(file, "trace")
  var status = stat()
  // One that was there may be readable by others.
  if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
    fchmod(descriptor, 0o600) != 0
  {
    refuse("the trace file \(file) belongs to somebody else; name another")
  }
  return Trace(descriptor: descriptor)
}

/// Opens a file that only its owner may read, at its end.
func openToAppend(_ file: String, _ purpose: String) -> Int32 {
  // O_NONBLOCK: a FIFO that nobody reads is an error rather than a wait.
  let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK
  let descriptor = clinux_open(file, flags, 0o600)
  guard descriptor >= 0 else {
    refuse("the \(purpose) file \(file) cannot be opened: \(String(cString: strerror(errno)))")
  }
  return descriptor
}

func serve(_ options: Arguments.ServeOptions) -> Never {
  let isTerminal = isatty(0) == 1
  // First of all: from here on nothing but the protocol reaches stdout.
  let (input, output) = StandardStreams.takeOver()
  // Memory stays flat whatever was in flight before: large blocks go back when they are free.
  clinux_bound_malloc(2, 128 << 10)
  let log = log(options)
  if isTerminal {
    tell("reading JSON-RPC requests from this terminal, one per line; Ctrl-D ends.")
  }
  Server.run(
    input: input,
    output: output,
    configuration: configuration(options.config),
    workingDirectory: currentDirectory(),
    options: .init(
      framing: options.framing,
      parentPID: options.parentPID,
      log: log,
      trace: trace(options),
      enablesTestMethods: options.enablesTestMethods
    )
  )
}

do throws(Arguments.Misuse) {
  switch try Arguments(Array(CommandLine.arguments.dropFirst())) {
  case .serve(let options): serve(options)
  case .checkConfig(let path): print(configuration(path).checkReport, terminator: "")
  case .doctor(let path): exit(Doctor(configuration: configuration(path)).run() ? 0 : 1)
  case .schema: print(Server.schema)
  case .version: print("ferry \(Server.version)")
  case .help: print(Help.text, terminator: "")
  case .nothing where isatty(0) == 1: print(Help.greeting, terminator: "")
  case .nothing: refuse("name a command, such as `ferry serve`; `ferry --help` tells them")
  }
} catch {
  refuse("\(error.message). `ferry --help` shows how it is used.")
}
