package import Configuration
internal import Glibc
internal import TransferEngine
internal import TransferModel

/// `ferry doctor`: whether everything the configuration names can be used from here.
package struct Doctor {
  private let configuration: Configuration
  private let remotes: Remotes
  /// As wide as the longest name.
  private let width: Int

  /// Examines a configuration that is valid as such.
  package init(configuration: Configuration) {
    self.configuration = configuration
    remotes = Remotes(configuration: configuration)
    let names =
      configuration.remotes.map { "remote \($0.name)" } + ["configuration", "limits.roots"]
    width = names.map(\.count).max() ?? 0
  }

  /// Prints one line per finding; returns whether all is well.
  package func run() -> Bool {
    tell("configuration", configuration.sourceName ?? "built in")
    var isWell = check("state folder", folder: configuration.stateDirectory)
    for remote in configuration.remotes {
      do throws(TransferError) {
        switch try remote.resolve() {
        case .local(let root):
          isWell = check("remote \(remote.name)", folder: root) && isWell
        case .s3(let settings):
          try examine(remote.name, at: settings.place)
        case .pubnub(let settings):
          try examine(remote.name, at: settings.place)
        case .cometchat(let settings):
          try examine(remote.name, at: settings.place)
        }
      } catch {
        isWell = tell("remote \(remote.name)", fault: error.message)
      }
    }
    for root in Set(configuration.remotes.flatMap(\.limits.roots)).sorted()
    where access(root, R_OK | X_OK) != 0 {
      isWell = tell("limits.roots", fault: "\(root): \(reason()); nothing in it can be sent")
    }
    return isWell
  }

  /// Asks a remote over HTTP whether it can be used.
  private func examine(_ name: String, at place: String) throws(TransferError) {
    let note = try remotes.examine(name)
    tell("remote \(name)", note.isEmpty ? place : "\(place), \(note)")
  }

  /// Whether a folder can be used, or made: what is made to see that is removed again.
  private func check(_ name: String, folder: String) -> Bool {
    let made = make(folder)
    defer { for path in made.reversed() { rmdir(path) } }
    guard access(folder, F_OK) == 0 else {
      return tell(name, fault: "\(folder) cannot be made: \(reason()); name another folder")
    }
    var info = stat()
    guard stat(folder, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else {
      return tell(name, fault: "\(folder) is a file and not a folder; name another")
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      return tell(
        name,
        fault: "\(folder) cannot be written: \(reason()); change its owner or mode"
      )
    }
    var status = statvfs()
    guard statvfs(folder, &status) == 0, status.f_bavail > 0 else {
      return tell(name, fault: "\(folder) has no free space; free some or name another folder")
    }
    let free = UInt64(status.f_bavail) * UInt64(status.f_frsize)
    let note = made.isEmpty ? "" : " (will be made)"
    tell(name, "\(folder)\(note), \(free >> 30) GiB free")
    return true
  }

  /// mkdir(2) of a folder and those above it; the ones that were not there, outermost first.
  private func make(_ folder: String) -> [String] {
    var missing: [String] = []
    var path = folder
    while access(path, F_OK) != 0, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
      missing.append(path)
      guard slash != path.startIndex else { break }
      path = String(path[..<slash])
    }
    return missing.reversed().filter { mkdir($0, 0o700) == 0 }
  }

  private func reason() -> String { String(cString: strerror(errno)) }

  private func tell(_ name: String, _ text: String, sign: String = "ok  ") {
    let padding = String(repeating: " ", count: max(0, width - name.count))
    print("\(name)\(padding)  \(sign)  \(text)")
  }

  private func tell(_ name: String, fault: String) -> Bool {
    tell(name, fault, sign: "FAIL")
    return false
  }
}
