internal import Backends
internal import JSON
internal import TransferModel

/// What CometChat, or the storage behind it, says when it refuses.
struct Fault {
  var code: String?
  var message: String?
  private var isStorage = false

  /// `{"error":{"code","message","details"}}`, or the storage's XML.
  init(_ response: HTTPResponse) {
    if let xml = StorageFault(response.body) {
      code = xml.code
      message = xml.message
      isStorage = true
    } else if let node = try? JSONNode(parsing: response.body) {
      let error = Members(Members(node)["error"])
      code = error.string("code")
      message = error.string("message")
    }
  }

  /// A refusal of one file in an answer about several.
  init(code: String?, message: String?) {
    self.code = code
    self.message = message
  }

  /// The error of an answer that is no success, to `what` was asked; `secrets` are taken out of the
  /// remote's words.
  func error(_ status: Int?, doing what: String, secrets: [Secret]) -> TransferError {
    let (errorCode, advice) = meaning(of: status ?? 400)
    let words = message.map { secrets.redacted($0) }
    let said = [code.map { String(secrets.redacted($0).prefix(128)) }, words]
      .compactMap { $0 }.joined(separator: ": ")
    let how = status.map { " with status \($0)" } ?? ""
    var error = TransferError(
      errorCode,
      "\(isStorage ? "The storage" : "CometChat") refused to \(what)\(how)"
        + (said.isEmpty ? "" : " (\(said.prefix(240)))") + ": \(advice)"
    )
    error.httpStatus = status
    error.serverCode = code.map { String(secrets.redacted($0).prefix(128)) }
    error.serverMessage = words.map { String(decoding: $0.utf8.prefix(1024), as: UTF8.self) }
    return error
  }

  /// Whether the app gives its media out by public URLs and hence presigns nothing.
  var saysPresigningIsOff: Bool {
    let said = ((code ?? "") + " " + (message ?? "")).lowercased()
    return said.contains("presigned")
      && ["disabled", "not enabled", "off"].contains(where: said.contains)
  }

  private func meaning(of status: Int) -> (ErrorCode, String) {
    switch code ?? "" {
    case "AUTH_ERR_NO_ACCESS":
      (.permissionDenied, "the key or token lacks this right.")
    case "AUTH_ERR_EMPTY_APPID", "AUTH_ERR_INVALID_APPID", "AUTH_ERR_EMPTY_APIKEY",
      "AUTH_ERR_APIKEY_NOT_FOUND":
      (.config, "correct appId, region or apiKey of this remote.")
    case let code where code.hasPrefix("AUTH_ERR_"):
      (.unauthenticated, "give a new authToken (remote/credentials), then try again.")
    case "ERR_PLAN_QUOTA_RESTRICTION": (.quotaExceeded, "the app's plan gives no more.")
    case "ERR_PLAN_RESTRICTION", "ERR_SUBSCRIPTION_EXPIRED", "ERR_API_NOT_FOUND":
      (.unsupported, "the app's plan or version does not have it.")
    case "ERR_UID_NOT_FOUND", "ERR_GUID_NOT_FOUND", "ERR_MESSAGE_ID_NOT_FOUND",
      "ERR_MSG_NOT_FOUND":
      (.notFound, "it is not there, or was removed.")
    case "ERR_NOT_A_MEMBER", "ERR_GROUP_NOT_JOINED", "ERR_MESSAGE_NO_ACCESS",
      "ERR_MESSAGE_NOT_A_SENDER", "ERR_PERMISSION_DENIED", "ERR_BLOCKED_RECEIVER",
      "ERR_BLOCKED_SENDER", "ERR_BLOCKED_BY_EXTENSION":
      (.permissionDenied, "this user may not do it here.")
    case "ERR_TOO_MANY_REQUESTS": (.rateLimited, "too much was asked at once; try again later.")
    default:
      switch status {
      case 401: (.unauthenticated, "give a new authToken (remote/credentials), then try again.")
      case 403: (.permissionDenied, "this user may not do it here.")
      case 404: (.notFound, "it is not there, or was removed.")
      case 408: (.network, "it waited too long; try again.")
      case 429: (.rateLimited, "too much was asked at once; try again later.")
      case 500...: (.server, "try again later.")
      case 400..<500: (.invalidArgument, "correct what was asked.")
      default: (.server, "that is no answer to this; something between may have given it.")
      }
    }
  }
}
