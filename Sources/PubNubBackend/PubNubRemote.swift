package import Backends
package import Configuration
internal import Crypto
internal import JSON
internal import Synchronization
package import TransferModel

/// A keyset of PubNub: files that are sent on channels, and the messages that tell of them.
///
/// What goes to the storage behind PubNub (lane `bulk`) is presigned: it gets no parameter, no token
/// and no signature.
package final class PubNubRemote: HTTPRemote {
  let settings: PubNubSettings
  /// The most bytes of a file as it is stored.
  let maxFileSize: Int64?
  private let cipher: ContentCipher?
  private let state: Mutex<State>

  private struct State {
    var token: Secret? {
      didSet { spent.add([oldValue]) }
    }
    var spent = SpentSecrets()
    /// What the service's clock is ahead of ours.
    var clockOffsetMs: Int64 = 0
    /// When it last answered.
    var nowMs: Int64 = 0
  }

  /// Signatures are refused when they are a minute off; half of that is worth asking again.
  static let toleratedSkewMs: Int64 = 30_000

  /// Opens nothing; `maxFileSize` is of the remote's limits.
  package init(_ settings: PubNubSettings, maxFileSize: Int64?) {
    self.settings = settings
    self.maxFileSize = maxFileSize
    state = Mutex(State(token: settings.authToken))
    cipher = settings.crypto.map { crypto in
      ContentCipher(
        cipherKey: crypto.cipherKey.text,
        form: crypto.module == .aesCbc ? .acrh : .legacy,
        usesRandomIV: crypto.randomIV
      )
    }
  }

  /// What encrypts and decrypts: the remote's own, or that of one request's key, which means the
  /// older form.
  /// - Throws: `ERR_INVALID_ARGUMENT` for a key that was not kept.
  func cipher(_ key: Secret?) throws(TransferError) -> ContentCipher? {
    guard let key else { return cipher }
    guard !key.text.isEmpty else {
      throw TransferError(
        .invalidArgument,
        "The cipherKey of this request is empty: keys of requests are not kept over a restart. "
          + "Make the request again, with its transferId and its key.",
        field: "/cipherKey"
      )
    }
    return ContentCipher(cipherKey: key.text, form: .legacy)
  }

  package func replaceCredentials(by credentials: RemoteCredentials) throws(TransferError) {
    let others = [
      credentials.idToken, credentials.accessToken, credentials.accessKeyID,
      credentials.secretAccessKey, credentials.sessionToken,
    ]
    guard let token = credentials.authToken, others.allSatisfy({ $0 == nil }) else {
      throw TransferError(
        .invalidArgument,
        "Remotes of kind pubnub take an authToken and nothing else.",
        field: "/authToken"
      )
    }
    state.withLock { $0.token = Secret(token) }
  }

  package func authorize(
    _ request: HTTPRequest,
    nowMs: Int64
  ) throws(TransferError) -> HTTPRequest {
    guard request.lane != .bulk else { return request }
    let (token, offset) = state.withLock { ($0.token, $0.clockOffsetMs) }
    var common = Query()
    common.add("pnsdk", "Ferry/1")
    common.add("uuid", settings.userID)
    common.add("auth", token?.text)
    if settings.secretKey != nil {
      common.add("timestamp", String((nowMs + offset) / 1000))
    }
    var request = request
    request.query = (request.query.split(separator: "&") + common.encoded.split(separator: "&"))
      .sorted { Self.name(of: $0).utf8.lexicographicallyPrecedes(Self.name(of: $1).utf8) }
      .joined(separator: "&")
    guard let secretKey = settings.secretKey else { return request }
    let body = (request.body ?? []).reduce(into: [UInt8]()) { body, piece in
      if case .bytes(let bytes) = piece { body += bytes }
    }
    let signature = Signature.make(
      method: request.method.rawValue,
      publishKey: settings.publishKey ?? "",
      path: request.path,
      query: request.query,
      body: request.method == .post || request.method == .patch ? body : [],
      secretKey: secretKey
    )
    request.query += "&signature=" + Query.encode(signature)
    return request
  }

  private static func name(of item: Substring) -> Substring { item.prefix { $0 != "=" } }

  /// The bytes of a request's URL when it is sent, at whatever moment.
  func sentBytes(_ request: HTTPRequest) throws(TransferError) -> Int {
    // Seconds have ten digits until the year 2286.
    try authorize(request, nowMs: 1_000_000_000_000).url.utf8.count
  }

  package func judge(
    _ response: HTTPResponse,
    to request: HTTPRequest,
    nowMs: Int64
  ) -> HTTPVerdict {
    state.withLock { $0.nowMs = nowMs }
    // The form is sent once, and what became of it is for the upload to judge.
    if request.lane == .bulk, request.method == .post { return .accept }
    switch response.status {
    case 429, 500...:
      var error = error(response, doing: "answer")
      let after = response.header("Retry-After").flatMap { Int64($0) }.map { min(max($0, 0), 150) }
      error.retryAfterMs = after.map { $0 * 1000 }
      return .retry(
        error,
        after: after.map { .seconds($0) },
        isThrottled: response.status == 429
      )
    case 400 where isSigned(request), 403 where isSigned(request):
      return learnsClock(response, nowMs: nowMs)
        ? .amend(error(response, doing: "accept the signature")) : .accept
    default:
      return .accept
    }
  }

  private func isSigned(_ request: HTTPRequest) -> Bool {
    settings.secretKey != nil && request.lane != .bulk
  }

  /// Whether the answer shows that our clock is off by more than was known.
  private func learnsClock(_ response: HTTPResponse, nowMs: Int64) -> Bool {
    guard let date = response.header("Date").flatMap(HTTPDate.milliseconds) else { return false }
    return state.withLock { state in
      let offset = date - nowMs
      guard abs(offset - state.clockOffsetMs) > Self.toleratedSkewMs else { return false }
      state.clockOffsetMs = offset
      return true
    }
  }

  /// When an answer last came.
  var lastNowMs: Int64 { state.withLock { $0.nowMs } }

  /// The error of an answer that is no success.
  func error(_ response: HTTPResponse, doing what: String) -> TransferError {
    let (token, spent) = state.withLock { ($0.token, $0.spent.all) }
    let secrets = [settings.secretKey, token].compactMap { $0 } + spent
    return Fault(response).error(response.status, doing: what, secrets: secrets)
  }

  /// The JSON of an answer that is a success.
  ///
  /// With `levels`, members that cannot be read are left out so far below the whole (`Salvage`).
  func json(
    _ response: HTTPResponse,
    doing what: String,
    salvaging levels: Int = 0
  ) throws(TransferError) -> JSONNode {
    guard response.isSuccess else { throw error(response, doing: what) }
    do throws(JSONError) {
      return try JSONNode(parsing: response.body)
    } catch {
      if levels > 0, let node = Salvage.node(response.body, levels: levels) { return node }
      throw TransferError(
        .server,
        "PubNub's answer is no JSON; something between may have answered in its place."
      )
    }
  }

  package func upload(_ spec: TransferSpec) throws(TransferError) -> any Backend {
    guard case .sendFile(let send) = spec.operation else { throw Self.noObjects }
    try check(send.announcement, name: send.name)
    return PubNubUpload(send, remote: self, cipher: try cipher(send.announcement.cipherKey))
  }

  package func download(_ spec: TransferSpec) throws(TransferError) -> any Backend {
    guard case .downloadFile(let download) = spec.operation else { throw Self.noObjects }
    let isFile =
      switch download.target {
      case .path, .temporary: true
      case .inline, .stream: false
      }
    return RangeDownload(
      PubNubPlace(
        remote: self,
        place: try place(of: download.locator),
        cipherKey: download.cipherKey
      ),
      cipher: try cipher(download.cipherKey),
      isFile: isFile
    )
  }

  package func feed() throws(TransferError) -> any SubscriptionFeed { PubNubFeed(remote: self) }

  private static let noObjects = TransferError(
    .unsupported,
    "Remotes of kind pubnub hold no objects; send files on channels (file/send)."
  )
}
