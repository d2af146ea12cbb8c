package import Backends
package import Configuration
internal import JSON
internal import Synchronization
package import TransferModel

/// An app of CometChat: files for its conversations, and the messages that show them.
///
/// What goes to the storage behind it (lane `bulk`) is presigned: it gets none of our headers.
package final class CometChatRemote: HTTPRemote {
  /// Scheme, host and port, and the path that everything is below.
  private let base: HTTPURL
  private let settings: CometChatSettings
  /// What the configuration says, which beats what the app's settings say.
  private let limits: Limits
  private let state: Mutex<State>

  private struct State {
    var access: CometChatSettings.Access {
      didSet { spent.add([oldValue.secret]) }
    }
    var spent = SpentSecrets()
    /// When it was last asked for a request.
    var nowMs: Int64 = 0
    /// What the app's settings say, once they were read.
    var learned: RemoteLimits?
  }

  /// Opens nothing; `limits` are the remote's own.
  /// - Throws: `ERR_CONFIG` for a base URL that cannot be asked.
  package init(_ settings: CometChatSettings, limits: Limits) throws(TransferError) {
    guard var base = HTTPURL(settings.baseURL) else {
      throw TransferError(
        .config,
        "This remote's base URL is none that can be asked; correct clientBaseUrl or apiBaseUrl."
      )
    }
    if base.path == "/" { base.path = "" }
    self.base = base
    self.settings = settings
    self.limits = limits
    state = Mutex(State(access: settings.access))
  }

  package func replaceCredentials(by credentials: RemoteCredentials) throws(TransferError) {
    let others = [
      credentials.idToken, credentials.accessToken, credentials.accessKeyID,
      credentials.secretAccessKey, credentials.sessionToken,
    ]
    guard case .user = settings.access, let token = credentials.authToken,
      others.allSatisfy({ $0 == nil })
    else {
      throw TransferError(
        .invalidArgument,
        "Remotes of kind cometchat take an authToken and nothing else, and only where their "
          + "configuration has one.",
        field: "/authToken"
      )
    }
    state.withLock { $0.access = .user(authToken: Secret(token)) }
  }

  package func authorize(
    _ request: HTTPRequest,
    nowMs: Int64
  ) throws(TransferError) -> HTTPRequest {
    let access = state.withLock { state in
      state.nowMs = nowMs
      return state.access
    }
    guard request.lane != .bulk else { return request }
    var request = request
    switch access {
    case .user(let token):
      request.headers += [
        HTTPHeader("appId", settings.appID), HTTPHeader("authToken", token.text),
        HTTPHeader("sdk", "ferry@1"),
      ]
    case .server(let key, let user):
      request.headers += [HTTPHeader("apikey", key.text), HTTPHeader("onBehalfOf", user)]
    }
    return request
  }

  package func judge(
    _ response: HTTPResponse,
    to request: HTTPRequest,
    nowMs: Int64
  ) -> HTTPVerdict {
    // The form is sent once, and what became of it is for the upload to judge.
    if request.lane == .bulk, request.method == .post { return .accept }
    guard response.status == 429 || response.status >= 500 else { return .accept }
    var error = error(response, doing: "answer")
    let after = response.header("Retry-After").flatMap { Int64($0) }.map { min(max($0, 0), 150) }
    error.retryAfterMs = after.map { $0 * 1000 }
    return .retry(
      error,
      after: after.map { .seconds($0) },
      isThrottled: response.status == 429
    )
  }

  // MARK: - Answers

  /// A moment by the clock of whoever answered, or by ours, in milliseconds since 1970.
  func moment(of response: HTTPResponse) -> Int64 {
    response.header("Date").flatMap(HTTPDate.milliseconds) ?? state.withLock { $0.nowMs }
  }

  /// What may be in nobody's words.
  var secrets: [Secret] {
    state.withLock { [$0.access.secret] + $0.spent.all }
  }

  /// The error of an answer that is no success.
  func error(_ response: HTTPResponse, doing what: String) -> TransferError {
    Fault(response).error(response.status, doing: what, secrets: secrets)
  }

  /// The JSON of an answer that is a success.
  func json(_ response: HTTPResponse, doing what: String) throws(TransferError) -> JSONNode {
    guard response.isSuccess else { throw error(response, doing: what) }
    do throws(JSONError) {
      return try JSONNode(parsing: response.body)
    } catch {
      throw TransferError(
        .server,
        "CometChat's answer is no JSON; something between may have answered in its place."
      )
    }
  }

  /// A request below the base URL.
  func request(
    _ method: HTTPMethod,
    _ path: String,
    query: String = "",
    json: [UInt8]? = nil,
    isRepeatable: Bool = true
  ) -> HTTPRequest {
    var headers = [HTTPHeader("Accept", "application/json")]
    if json != nil { headers.append(HTTPHeader("Content-Type", "application/json")) }
    return HTTPRequest(
      method,
      origin: base.origin,
      path: base.path + path,
      query: query,
      headers: headers,
      body: json.map { [.bytes($0)] },
      isRepeatable: isRepeatable
    )
  }

  /// Whether URLs that somebody sent must be https.
  var isSecure: Bool { base.origin.hasPrefix("https:") }

  // MARK: - Limits

  package var ownLimits: RemoteLimits {
    let learned = state.withLock { $0.learned }
    return RemoteLimits(
      maxFileSize: limits.maxFileSize ?? learned?.maxFileSize ?? CometChatSettings.maxFileSize,
      maxFileCount: limits.maxFileCount ?? learned?.maxFileCount
        ?? CometChatSettings.maxFileCount
    )
  }

  /// Refuses what the storage does not take.
  func check(size: Int64, of name: String) throws(TransferError) {
    guard size > 0 else {
      throw TransferError(
        .fileDataEmpty,
        "\"\(name)\" is empty, and CometChat takes no empty files."
      )
    }
    guard let limit = ownLimits.maxFileSize, size > limit else { return }
    throw TransferError(
      .fileSizeExceeded,
      "\"\(name)\" has \(size) bytes; the app, or limits.maxFileSize, allows \(limit)."
    )
  }

  package func learnLimits() -> RemoteCall<Void>? {
    let isSet = limits.maxFileSize != nil && limits.maxFileCount != nil
    guard !isSet, state.withLock({ $0.learned == nil }) else { return nil }
    return .ask(settingsRequest) { [self] response throws(TransferError) in
      let limits = try limits(in: response)
      state.withLock { $0.learned = limits }
      return .done(())
    }
  }

  private var settingsRequest: HTTPRequest {
    // A service that does not answer must not hold up a batch: the built-in limits do.
    var request = request(.get, "/settings", isRepeatable: false)
    request.answerTimeout = .seconds(10)
    return request
  }

  /// `file.size.max` in bytes and `file.count.max`, wherever they are in the settings.
  /// - Throws: what was refused; `ERR_SERVER` for what names neither.
  func limits(in response: HTTPResponse) throws(TransferError) -> RemoteLimits {
    let node = try json(response, doing: "show the app's settings")
    var limits = RemoteLimits()
    let top = Members(node)
    let data = Members(top["data"])
    for members in [top, data, Members(data["settings"]), Members(top["settings"])] {
      if let size = members.int("file.size.max"), size > 0 { limits.maxFileSize = size }
      if let count = members.int("file.count.max"), (1...1_000_000).contains(count) {
        limits.maxFileCount = Int(count)
      }
    }
    guard limits != RemoteLimits() else {
      throw TransferError(
        .server,
        "The app's settings name neither file.size.max nor file.count.max; write both limits into the "
          + "configuration of this remote (limits.maxFileSize, limits.maxFileCount)."
      )
    }
    return limits
  }

  package func examine(nowMs: Int64) throws(TransferError) -> RemoteCall<String> {
    .ask(settingsRequest) { [self] response throws(TransferError) in
      let limits = try limits(in: response)
      let size = limits.maxFileSize ?? CometChatSettings.maxFileSize
      let count = limits.maxFileCount ?? CometChatSettings.maxFileCount
      return .done("files up to \(size) bytes, \(count) in a message")
    }
  }

  // MARK: - Transfers

  package func upload(_ spec: TransferSpec) throws(TransferError) -> any Backend {
    guard case .sendFile(let send) = spec.operation else { throw Self.noObjects }
    let conversation = try Conversation(send.channel)
    if send.announces {
      // The address is not known yet, and the longest there are leave room for it.
      let file = SharedFile(id: "", name: send.name, size: 1, contentType: send.contentType)
      try Rules.check(message(showing: Attachment(file, url: ""), send), to: conversation)
    }
    return CometChatUpload(
      send,
      to: conversation,
      fileID: spec.batchFile?.file ?? spec.id.description,
      remote: self
    )
  }

  package func download(_ spec: TransferSpec) throws(TransferError) -> any Backend {
    guard case .downloadFile(let download) = spec.operation else { throw Self.noObjects }
    let isFile =
      switch download.target {
      case .path, .temporary: true
      case .inline, .stream: false
      }
    return RangeDownload(try CometChatPlace(download, remote: self), isFile: isFile)
  }

  private static let noObjects = TransferError(
    .unsupported,
    "Remotes of kind cometchat hold no objects; send files to conversations (file/send)."
  )
}

extension CometChatSettings.Access {
  fileprivate var secret: Secret {
    switch self {
    case .user(let token): token
    case .server(let key, _): key
    }
  }
}
