import Backends
import TransferModel

/// What a server said went wrong.
struct S3Fault: Equatable {
  var status: Int
  /// Such as `NoSuchKey`; empty where the server sent none, as in answers to HEAD.
  var code: String
  var message: String
  /// The region the bucket lies in, where the server says so.
  var region: String?
  /// The host to ask instead, where the server says so.
  var endpoint: String?

  /// A fault that no answer spells out.
  init(status: Int, code: String, message: String) {
    self.status = status
    self.code = code
    self.message = message
  }

  /// Reads an answer that is an error; nil for one that is none.
  ///
  /// A success has whatever was stored as its body, and is not read, but where it is a `result`: of
  /// completing an upload or copying, which servers begin to answer before they know.
  init?(_ response: HTTPResponse, result: Bool = false) {
    guard !response.isSuccess || result else { return nil }
    let root = response.body.isEmpty ? nil : XMLNode.parse(response.body)
    let error = root?.name == "Error" ? root : root?["Error"]
    guard !response.isSuccess || root?.name == "Error" else { return nil }
    status = response.status
    code = error?.text("Code") ?? ""
    message = error?.text("Message") ?? ""
    // It becomes a part of headers and of a host's name.
    region = (response.header("x-amz-bucket-region") ?? error?.text("Region")).flatMap {
      (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy(Self.isOfRegions) ? $0 : nil
    }
    endpoint = error?.text("Endpoint")
  }

  private static func isOfRegions(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
  }

  /// Whether nothing of this name is there.
  var isNotFound: Bool { code == "NoSuchKey" || (status == 404 && code.isEmpty) }

  /// Whether the upload is gone: aborted, expired or completed.
  var isNoSuchUpload: Bool {
    code == "NoSuchUpload" || (status == 404 && code != "NoSuchBucket")
  }

  /// Whether the server is all right and asks to be asked less.
  var isThrottled: Bool {
    status == 429 || status == 503
      || ["SlowDown", "RequestLimitExceeded", "Throttling", "TooManyRequests", "Busy"]
        .contains(code)
  }

  /// Whether the same request may succeed later.
  var isTransient: Bool {
    if isThrottled { return true }
    switch code {
    case "InternalError", "RequestTimeout", "ServiceUnavailable", "OperationAborted", "BadDigest",
      "IncompleteBody", "XAmzContentSHA256Mismatch":
      return true
    case "NotImplemented": return false
    default: return status == 408 || [500, 502, 504].contains(status)
    }
  }

  /// Whether a key that ended or was replaced is the reason.
  var isOldCredentials: Bool {
    ["ExpiredToken", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId"].contains(code)
  }

  /// The failure as hosts hear it.
  ///
  /// - Parameters:
  ///   - what: what was tried, in words that follow "Cannot".
  ///   - secrets: are taken out of the server's words.
  /// - Returns: the code that fits and what to do, with the server's own words.
  func error(_ what: String, secrets: [Secret] = []) -> TransferError {
    let (errorCode, advice) = judgement
    var error = TransferError(errorCode, "Cannot \(what): \(advice)")
    error.httpStatus = status
    if !code.isEmpty { error.serverCode = String(secrets.redacted(code).prefix(64)) }
    if !message.isEmpty { error.serverMessage = Self.excerpt(secrets.redacted(message)) }
    if errorCode.isRetryable != isTransient { error.retryableOverride = isTransient }
    return error
  }

  /// The code that fits, and what to do.
  private var judgement: (ErrorCode, String) {
    switch code {
    case "NoSuchBucket":
      (.config, "the bucket does not exist; correct bucket, endpoint or region, or make it.")
    case "NoSuchUpload":
      (.server, "the server no longer knows the upload; start it again.")
    case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken",
      "MissingAuthenticationToken",
      "InvalidSecurity", "AuthorizationHeaderMalformed", "UnsupportedAlgorithm":
      (
        .unauthenticated,
        "the server does not accept the key; check accessKeyId, secretAccessKey, "
          + "sessionToken and region."
      )
    case "ExpiredToken", "TokenRefreshRequired":
      (.unauthenticated, "the credentials have expired; give new ones with remote/credentials.")
    case "RequestTimeTooSkewed", "RequestExpired":
      (.unauthenticated, "the clock of this machine or of the server is wrong; set it.")
    case "EntityTooLarge": (.fileSizeExceeded, "it is larger than the server takes.")
    case "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "XMinioStorageFull":
      (.quotaExceeded, "the server has no room for it; free some.")
    case "BadDigest", "InvalidDigest", "IncompleteBody", "XAmzContentSHA256Mismatch":
      (.checksumMismatch, "the server received other bytes than were sent; try again.")
    case "KeyTooLongError", "InvalidObjectName", "XMinioInvalidObjectName", "InvalidURI":
      (.invalidReference, "the server does not take the name; choose another.")
    case "MetadataTooLarge": (.invalidArgument, "the server does not take so much metadata.")
    case "InvalidObjectState":
      (.permissionDenied, "the object is archived; restore it in the store first.")
    default: byStatus
    }
  }

  private var byStatus: (ErrorCode, String) {
    if isThrottled { return (.rateLimited, "the server asks for fewer requests; try later.") }
    switch status {
    case 301, 302, 307, 308:
      return (.config, "the bucket is to be asked elsewhere; correct endpoint and region.")
    case 401: return (.unauthenticated, "the server does not accept the key; check it.")
    case 403:
      return (.permissionDenied, "the server denies it to this key; grant it in the store.")
    case 404: return (.notFound, "there is nothing of this name.")
    case 405, 501: return (.unsupported, "the server does not offer this.")
    case 409: return (.preconditionFailed, "another writer was there first; look and try again.")
    case 412: return (.preconditionFailed, "what is there is not what the condition asks for.")
    case 413: return (.fileSizeExceeded, "it is larger than the server takes.")
    case 416: return (.invalidArgument, "the range begins behind the end.")
    case 507: return (.quotaExceeded, "the server has no room for it; free some.")
    case 200..<300, 408, 500...: return (.server, "the server failed; try again.")
    default: return (.unknown, "the server refuses with status \(status).")
    }
  }

  /// At most 1 KiB on one line.
  private static func excerpt(_ text: String) -> String {
    var kept = String.UnicodeScalarView()
    var used = 0
    for scalar in text.unicodeScalars {
      used += UTF8.width(scalar)
      if used > 1024 { break }
      kept.append(scalar.value < 32 || scalar.value == 127 ? " " : scalar)
    }
    return String(kept)
  }
}
