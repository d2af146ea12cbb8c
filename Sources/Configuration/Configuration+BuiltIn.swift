extension Configuration {
  /// The values that are text of a file rather than of this program, since they expand.
  static let builtInTree: ConfigNode = {
    func text(_ key: String, _ text: String) -> ConfigNode.Entry {
      entry(key, .scalar(text, quoted: true))
    }
    func entry(_ key: String, _ content: ConfigNode.Content) -> ConfigNode.Entry {
      .init(
        key: key,
        keyLocation: .builtIn,
        value: ConfigNode(content: content, location: .builtIn)
      )
    }
    let local = [
      text("kind", RemoteKind.local.rawValue),
      text("root", "${XDG_DATA_HOME:-~/.local/share}/ferry"),
    ]
    return ConfigNode(
      content: .mapping([
        text("stateDir", "${XDG_STATE_HOME:-~/.local/state}/ferry"),
        entry("remotes", .mapping([entry("local", .mapping(local))])),
      ]),
      location: .builtIn
    )
  }()
}
