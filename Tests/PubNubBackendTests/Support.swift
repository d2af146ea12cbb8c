import Backends
import Configuration
import Crypto
import JSON
import TransferModel

@testable import PubNubBackend

/// A remote whose keyset is `pub`, `sub`.
func remote(
  maxFileSize: Int64? = 5_242_880,
  _ change: (inout PubNubSettings) -> Void = { _ in }
) -> PubNubRemote {
  var settings = PubNubSettings(publishKey: "pub", subscribeKey: "sub", userID: "user 1")
  settings.origin = "http://127.0.0.1:8080"
  change(&settings)
  return PubNubRemote(settings, maxFileSize: maxFileSize)
}

/// Encrypts with a key, in the present form.
func encrypted(_ settings: inout PubNubSettings) {
  settings.crypto = .init(cipherKey: Secret("enigma"))
}

/// An answer with JSON.
func answer(
  _ json: String,
  _ status: Int = 200,
  _ headers: [HTTPHeader] = []
) -> HTTPResponse {
  HTTPResponse(status: status, headers: headers, body: Array(json.utf8))
}

/// JSON that a host gave.
func raw(_ json: String) -> RawJSON { RawJSON(validated: Array(json.utf8)) }

/// A file to be sent on channel `ch`.
func sendSpec(
  name: String = "a b.txt",
  channel: String = "ch",
  _ change: (inout Announcement) -> Void = { _ in }
) -> TransferSpec {
  var announcement = Announcement(channel: channel, fileID: "", fileName: name)
  change(&announcement)
  return spec(
    .sendFile(
      SendFile(
        channel: channel,
        name: name,
        contentType: "text/plain",
        announcement: announcement,
        source: .path("/tmp/a")
      )
    )
  )
}

/// A file to be fetched.
func downloadSpec(
  _ locator: FileLocator = .key(channel: "ch", id: "f1", name: "a b.txt"),
  target: TransferTarget = .temporary
) -> TransferSpec {
  spec(.downloadFile(DownloadFile(locator, target: target)))
}

private func spec(_ operation: TransferOperation) -> TransferSpec {
  guard let id = TransferID("t") else { preconditionFailure("t is an id") }
  return TransferSpec(
    id: id,
    remote: "chat",
    operation: operation,
    computesDigest: true,
    reportsProgress: true,
    origin: TransferOrigin(method: "m", params: raw("{}"), sourceIdentity: "1"),
    root: "/"
  )
}

/// The answer to the question for a place.
let slotAnswer = answer(
  """
  {"status":200,"data":{"id":"f1","name":"kept.txt"},"file_upload_request":{
  "url":"https://store.example.com/","method":"POST","expiration_date":"2025-05-05T17:27:44Z",
  "form_fields":[{"key":"tagging","value":"\\u003cTagging/\\u003e"},{"key":"key","value":"sub/H/f1/kept.txt"},
  {"key":"Content-Type","value":"binary/octet-stream"},{"key":"X-Amz-Security-Token","value":""},
  {"key":"Policy","value":"e30="}]}}
  """
)

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
