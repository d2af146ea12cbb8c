import Backends
import Configuration
import JSON
import TransferModel

@testable import CometChatBackend

/// A remote of app `app1`, asked by a user.
func remote(
  _ access: CometChatSettings.Access = .user(authToken: Secret("s3cr3t")),
  limits: Limits = Limits(),
  base: String = "https://app1.apiclient-us.cometchat.io/v3.0"
) throws -> CometChatRemote {
  try CometChatRemote(
    CometChatSettings(appID: "app1", access: access, baseURL: base),
    limits: limits
  )
}

/// An answer with JSON.
func answer(_ json: String, _ status: Int = 200, _ headers: [HTTPHeader] = []) -> HTTPResponse {
  HTTPResponse(status: status, headers: headers, body: Array(json.utf8))
}

/// JSON that a host gave.
func raw(_ json: String) -> RawJSON { RawJSON(validated: Array(json.utf8)) }

/// A file to be sent to a conversation.
func sendSpec(
  channel: String = "user:bob",
  announces: Bool = true,
  parent: Int64? = nil,
  _ change: (inout Announcement) -> Void = { _ in }
) -> TransferSpec {
  var announcement = Announcement(channel: channel, fileID: "", fileName: "a.png")
  change(&announcement)
  var send = SendFile(
    channel: channel,
    name: "a.png",
    contentType: "image/png",
    announcement: announcement,
    source: .path("/tmp/a")
  )
  send.announces = announces
  send.parent = parent.map { Timetoken($0) }
  return spec(.sendFile(send))
}

/// A transfer named `t`.
func spec(_ operation: TransferOperation) -> TransferSpec {
  guard let id = TransferID("t") else { preconditionFailure("t is an id") }
  return TransferSpec(
    id: id,
    remote: "talk",
    operation: operation,
    computesDigest: true,
    reportsProgress: true,
    origin: TransferOrigin(method: "m", params: raw("{}"), sourceIdentity: "1"),
    root: "/"
  )
}

/// A place for file `t`; `policy` is base64.
func place(policy: String? = nil) -> String {
  let field = policy.map { #","policy":"\#($0)""# } ?? ""
  return """
    {"request":{"url":"https://store.example.com/b","body":{"key":"k"\(field)}},
    "attachment":{"url":"https://media.example.com/app1/media/1_a.png?Signature=s","name":"a.png",
    "extension":"png","mimeType":"image/png","size":5}}
    """
}

/// A file that is stored.
func attachment(_ name: String = "a.png", url: String? = nil) -> Attachment {
  Attachment(
    SharedFile(id: "app1/media/\(name)", name: name, size: 5, contentType: "image/png"),
    url: url ?? "https://media.example.com/app1/media/\(name)?Signature=s"
  )
}

extension BackendStep {
  /// The request of a step that is one.
  var request: HTTPRequest? {
    if case .http(let exchange) = self { exchange.request } else { nil }
  }
  /// The error of a step that ends so.
  var error: TransferError? { if case .fail(let error) = self { error } else { nil } }
}

extension HTTPRequest {
  /// The whole body; a range of the source as its bounds in angle brackets.
  var text: String {
    (body ?? []).map { piece in
      switch piece {
      case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
      case .source(let range): "<\(range.lowerBound)..<\(range.upperBound)>"
      }
    }
    .joined()
  }
}
