package import Configuration
internal import Glibc
internal import TransferEngine
internal import TransferModel

/// `ferry doctor`: whether everything the configuration names can be used from here.
package struct Doctor {
  private let configuration: Configuration

  /// Examines a configuration that is valid as such.
  package init(configuration: Configuration) { self.configuration = configuration }

  /// Prints one line per finding; returns whether all is well.
  package func run() -> Bool {
    print("configuration  ok    \(configuration.sourceName ?? "built in")")
    var isWell = check("state folder", folder: configuration.stateDirectory)
    for remote in configuration.remotes {
      do throws(TransferError) {
        switch try remote.resolve() {
        case .local(let root):
          isWell = check("remote \(remote.name)", folder: root) && isWell
        }
      } catch {
        print("remote \(remote.name)  FAIL  \(error.message)")
        isWell = false
      }
    }
    return isWell
  }

  /// Whether a folder, or the nearest one above it that exists, can be written.
  private func check(_ name: String, folder: String) -> Bool {
    var existing = folder
    while access(existing, F_OK) != 0, let slash = existing.utf8.lastIndex(of: UInt8(ascii: "/")) {
      existing = slash == existing.startIndex ? "/" : String(existing[..<slash])
    }
    guard access(existing, W_OK | X_OK) == 0 else {
      print(
        "\(name)  FAIL  \(existing) cannot be written: \(String(cString: strerror(errno))); "
          + "change its owner or mode, or name another folder"
      )
      return false
    }
    var status = statvfs()
    let free =
      statvfs(existing, &status) == 0 ? UInt64(status.f_bavail) * UInt64(status.f_frsize) : 0
    let note = existing == folder ? "" : " (will be made)"
    print("\(name)  ok    \(folder)\(note), \(free >> 20) MiB free")
    return true
  }
}
