internal import Backends
internal import JSON
internal import JSONRPC
internal import Sharing
internal import TransferEngine
internal import TransferModel

/// `remote/credentials`: replaces what proves who asks, while everything else goes on.
struct ReplaceCredentials: ImmediateMethod {
  static let name = "remote/credentials"
  let server: Server

  struct Params: Sendable {
    var remote: String
    var credentials: RemoteCredentials
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    var credentials = RemoteCredentials()
    credentials.idToken = try secret("idToken", &fields)
    credentials.authToken = try secret("authToken", &fields)
    credentials.accessToken = try secret("accessToken", &fields)
    credentials.accessKeyID = try secret("accessKeyId", &fields)
    credentials.secretAccessKey = try secret("secretAccessKey", &fields)
    credentials.sessionToken = try secret("sessionToken", &fields)
    return Params(remote: try fields.string("remote"), credentials: credentials)
  }

  /// One line of printable ASCII, as it travels in a header; the value is not quoted by the error.
  private static func secret(
    _ name: String,
    _ fields: inout JSONFields
  ) throws(JSONError) -> String? {
    guard let text = try fields.optionalString(name) else { return nil }
    guard !text.isEmpty, text.utf8.count <= 16 << 10,
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { throw fields.error(name, "must be printable ASCII without spaces") }
    return text
  }

  func run(_ params: Params) throws(TransferError) -> EmptyReply {
    try server.sharing.replaceCredentials(of: params.remote, by: params.credentials)
    return EmptyReply()
  }
}
