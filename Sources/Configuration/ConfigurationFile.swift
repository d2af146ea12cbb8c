import Glibc

/// Finds and reads the file of a configuration.
enum ConfigurationFile {
  /// The bytes of a file, or of anything else that can be read to its end.
  ///
  /// At most one byte more than ``YAMLReader/maxBytes`` is read.
  static func read(_ path: String) throws(ConfigurationError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path, "cannot be opened") }
    defer { close(descriptor) }
    let capacity = YAMLReader.maxBytes + 1
    var bytes: [UInt8] = []
    while bytes.count < capacity {
      var chunk = [UInt8](repeating: 0, count: min(64 << 10, capacity - bytes.count))
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw failure(path, "cannot be read") }
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    return bytes
  }

  private static func failure(_ path: String, _ what: String) -> ConfigurationError {
    ConfigurationError(.file(path), "\(what): \(String(cString: strerror(errno)))")
  }
}

extension Configuration {
  /// The file to load: `--config`, else `$FERRY_CONFIG`, else `ferry/config.yaml` in the user's folder
  /// of configurations; never one of the working directory, which may be a stranger's checkout.
  ///
  /// - Parameters:
  ///   - explicitPath: the argument of `--config`.
  ///   - environment: the process's variables.
  /// - Returns: nil where there is no file and the built-in configuration holds.
  /// - Throws: where a file that was named is not there.
  package static func locate(
    explicitPath: String?,
    environment: [String: String]
  ) throws(ConfigurationError) -> String? {
    if let explicitPath { return try named(explicitPath, by: "--config") }
    if let path = environment["FERRY_CONFIG"], !path.isEmpty {
      return try named(path, by: "FERRY_CONFIG")
    }
    // The XDG base directory specification has relative paths ignored.
    let folder =
      if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
        folder
      } else if let home = environment["HOME"], home.hasPrefix("/") {
        home + "/.config"
      } else {
        ""
      }
    let path = folder + "/ferry/config.yaml"
    // A file that is there but cannot be reached is for the reader to complain about.
    guard !folder.isEmpty, access(path, F_OK) == 0 || ![ENOENT, ENOTDIR].contains(errno) else {
      return nil
    }
    return path
  }

  private static func named(
    _ path: String,
    by origin: String
  ) throws(ConfigurationError) -> String {
    guard access(path, F_OK) == 0 else {
      throw ConfigurationError(
        .file(path),
        "\(String(cString: strerror(errno))) (named by \(origin)); "
          + "correct the path or leave it out"
      )
    }
    return path
  }
}
