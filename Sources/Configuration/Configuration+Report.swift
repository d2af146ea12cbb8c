extension Configuration {
  /// What `ferry check-config` prints: lines of text that end with a newline, without secrets.
  ///
  /// Names the file, the remotes, every limit that is not the built-in one, and, as warnings, the
  /// variables that remotes need and do not find.
  package var checkReport: String {
    var lines = [
      "configuration: \(sourceName ?? "built in (no file found)")",
      "state folder: \(stateDirectory)",
      "limits: \(Self.summary(limits, comparedWith: Limits()))",
    ]
    for remote in remotes {
      let mark = remote.name == defaultRemote ? ", default" : ""
      lines.append(
        "remote \(remote.name) (\(remote.kind.rawValue)\(mark))\(Self.place(of: remote))"
      )
      if remote.limits != limits {
        lines.append("  limits: \(Self.summary(remote.limits, comparedWith: limits))")
      }
    }
    for remote in remotes {
      for missing in remote.missing {
        lines.append(
          "warning: \(missing.location): remote \"\(remote.name)\" needs environment variable "
            + "\(missing.name), which is not set"
        )
      }
    }
    return lines.map { $0 + "\n" }.joined()
  }

  private static func place(of remote: RemoteConfiguration) -> String {
    // What cannot be resolved is told as a warning instead.
    switch try? remote.resolve() {
    case .local(let root): ": \(root)"
    case .s3(let settings): ": \(settings.place)"
    case .pubnub(let settings): ": \(settings.place)"
    case .cometchat(let settings): ": \(settings.place)"
    case nil: ""
    }
  }

  private static func summary(_ limits: Limits, comparedWith base: Limits) -> String {
    let changed = zip(limits.described, base.described).filter { $0.0.value != $0.1.value }
    return changed.isEmpty
      ? "as built in" : changed.map { "\($0.0.key) \($0.0.value)" }.joined(separator: ", ")
  }
}
