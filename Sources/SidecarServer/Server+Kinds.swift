internal import Configuration
internal import JSON
internal import TransferModel

/// What only some kinds of remote can do is refused for the others, since ignoring it could store
/// in the clear what was meant to be secret, or listen to less than was meant.
extension Server {
  /// A key for one request, where the remote encrypts.
  /// - Throws: `ERR_INVALID_ARGUMENT`.
  func cipherKey(_ text: String?, on remote: String?) throws(TransferError) -> Secret? {
    guard let text else { return nil }
    switch kind(of: remote) {
    case .pubnub, nil: return Secret(text)
    case .local, .s3, .cometchat:
      throw TransferError(
        .invalidArgument,
        "cipherKey is for remotes that encrypt, which \"\(remote ?? defaultRemote)\" does not: "
          + "leave it out.",
        field: "/cipherKey"
      )
    }
  }

  /// Refuses groups where the remote has none.
  /// - Throws: `ERR_INVALID_ARGUMENT`.
  func checkGroups(_ groups: [String]?, on remote: String?) throws(TransferError) {
    guard groups != nil else { return }
    switch kind(of: remote) {
    case .pubnub, nil: return
    case .local, .s3, .cometchat:
      throw TransferError(
        .invalidArgument,
        "groups is for remotes that have them, which \"\(remote ?? defaultRemote)\" does not: "
          + "leave it out.",
        field: "/groups"
      )
    }
  }

  /// What a remote's storage is called; where that has no name of its own, the remote's.
  /// - Throws: `ERR_CONFIG` for missing variables.
  func bucket(of remote: String) throws(TransferError) -> String {
    switch try configuration.remote(named: remote)?.resolve() {
    case .s3(let settings): settings.bucket
    case .local, .pubnub, .cometchat, nil: remote
    }
  }

  /// Whether a remote's messages show several files at once, and have threads.
  func hasMediaMessages(_ remote: String) -> Bool { kind(of: remote) == .cometchat }

  private func kind(of remote: String?) -> RemoteKind? {
    let configuration = configuration
    return configuration.remote(named: remote ?? configuration.defaultRemote)?.kind
  }
}
