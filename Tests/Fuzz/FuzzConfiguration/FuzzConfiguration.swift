@testable import Configuration
import JSON

/// One input of libFuzzer: a configuration file, or after a `{` what `initialize` lays over one.
///
/// A crash is a finding, and so is an error that shows a value of the environment.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzConfiguration(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  do throws(ConfigurationError) {
    if bytes.first == UInt8(ascii: "{"), let node = try? JSONNode(parsing: bytes) {
      use(try Configuration.builtIn(environment: environment).merging(node))
    }
    use(try Configuration.parse(bytes, file: "config.yaml", environment: environment))
  } catch {
    precondition(!error.description.contains(secret), "an error shows a secret")
    precondition(error.description.utf8.count < 4096, "an error repeats its input")
  }
  return 0
}

private let secret = "s3cr3t-value"
private let environment = ["HOME": "/home/me", "KEY": secret]

private func use(_ configuration: Configuration) {
  _ = configuration.checkReport
  for remote in configuration.remotes { _ = try? remote.resolve() }
}
