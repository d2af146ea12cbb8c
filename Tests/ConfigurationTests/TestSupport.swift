import Glibc

@testable import Configuration

/// The environment of tests that say nothing else.
let home = ["HOME": "/home/ada"]

/// A configuration from the text of a file named `config.yaml`.
func configuration(
  _ yaml: String,
  _ environment: [String: String] = home
) throws(ConfigurationError) -> Configuration {
  try .parse(Array(yaml.utf8), file: "config.yaml", environment: environment)
}

/// A file of this repository.
func repositoryFile(_ path: String) throws -> [UInt8] {
  let here = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
  return try ConfigurationFile.read("/\(here)/\(path)")
}

/// A folder that is gone with its content when the value is.
struct TemporaryFolder: ~Copyable {
  let path: String
  /// What was made, folders before their content.
  private var made: [String]

  init() throws {
    var template = Array("/tmp/ferry-configuration-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno(code: errno) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    made = [path]
  }

  deinit {
    for path in made.reversed() { remove(path) }
  }

  /// Writes a file, and makes the folders above it.
  mutating func write(_ name: String, _ text: String) throws -> String {
    var place = path
    for folder in name.split(separator: "/").dropLast() {
      place += "/\(folder)"
      if mkdir(place, 0o700) == 0 { made.append(place) }
    }
    let file = "\(path)/\(name)"
    made.append(file)
    let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0 else { throw Errno(code: errno) }
    defer { close(descriptor) }
    guard Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count else {
      throw Errno(code: errno)
    }
    return file
  }

  struct Errno: Error { var code: Int32 }
}
