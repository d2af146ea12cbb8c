internal import Backends
internal import JSON
internal import TransferModel

/// What PubNub or the storage behind it says when it refuses: five shapes of JSON, and XML.
struct Fault: Equatable {
  var code: String?
  var message: String?
  var service: String?

  init(_ response: HTTPResponse) {
    if let xml = StorageFault(response.body) {
      code = xml.code
      message = xml.message
      service = "storage"
    } else if let node = try? JSONNode(parsing: response.body) {
      read(node)
    }
  }

  /// `{"error":{"message","source","code"}}`, `{"message","service","error":true}` of the access
  /// manager and of the balancer, `{"error_message"}`, `[0,"message","timetoken"]`.
  private mutating func read(_ node: JSONNode) {
    if let elements = try? node.elements() {
      if elements.count > 1 { message = try? elements[1].string() }
      return
    }
    let members = Members(node)
    service = members.string("service")
    message = members.string("message") ?? members.string("error_message")
    guard let error = members["error"], error.kind == .object else { return }
    let inner = Members(error)
    message = inner.string("message") ?? message
    service = inner.string("source") ?? service
    code = inner.string("code") ?? inner["code"].map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  /// The error of an answer that is no success, to `what` was asked.
  ///
  /// `secrets` are taken out of the remote's words.
  func error(
    _ status: Int,
    doing what: String,
    secrets: [Secret] = []
  ) -> TransferError {
    let (errorCode, advice) = meaning(of: status)
    let words = message.map { secrets.redacted($0) }
    let said = words.map { " (\($0.prefix(200)))" } ?? ""
    var error = TransferError(
      errorCode,
      "\(service?.prefix(64) ?? "PubNub") refused to \(what) with status \(status)\(said): \(advice)"
    )
    error.httpStatus = status
    error.serverCode = (code ?? service).map { String(secrets.redacted($0).prefix(128)) }
    error.serverMessage = words.map { String(decoding: $0.utf8.prefix(1024), as: UTF8.self) }
    return error
  }

  private func meaning(of status: Int) -> (ErrorCode, String) {
    let words = (message ?? "").lowercased()
    let isTokenTrouble = words.contains("token") || words.contains("signature")
    return switch status {
    case 401: (.unauthenticated, "give a token or keys that are valid (remote/credentials).")
    case 403 where isTokenTrouble:
      (.unauthenticated, "give a new token (remote/credentials), then try again.")
    case 403: (.permissionDenied, "the token or keys lack this right on the channel.")
    case 402: (.unsupported, "switch the service on for this keyset in PubNub's portal.")
    case 404: (.notFound, "it is not there, or was removed.")
    case 408: (.network, "it waited too long; try again.")
    case 413, 414: (.invalidArgument, "make the message, or the list of channels, shorter.")
    case 429: (.rateLimited, "too much was asked at once; try again later.")
    case 481: (.invalidArgument, "correct the filter.")
    case 500...: (.server, "try again later.")
    case 400 where words.contains("key"):
      (.config, "correct publishKey and subscribeKey of this remote.")
    case 400..<500: (.invalidArgument, "correct what was asked.")
    default: (.server, "that answer is not known here.")
    }
  }
}
