package import Backends
package import Configuration
import Synchronization
package import TransferModel

/// A bucket of an S3 store, or a folder of it.
///
/// Lives as long as the process and remembers what servers taught it: how far their clock is from
/// this machine's, where the bucket really lies, what kind of server it is, and newer credentials.
package final class S3Remote: HTTPRemote {
  let settings: S3Settings
  private let profile: AWSProfile
  private let state: Mutex<State>

  private struct State: Sendable {
    var endpoint: Endpoint
    var provider: Provider?
    var credentials: S3Settings.Credentials? {
      didSet { spent.add(oldValue?.secrets ?? []) }
    }
    var spent = SpentSecrets()
    /// Whether they are the configuration's or a host's, which AWS's files do not replace.
    var areGiven: Bool
    /// What to add to this machine's clock to get the server's.
    var clockOffsetMs: Int64 = 0
    /// The signer of the day, kept since deriving its key costs more than using it.
    var signer: (day: String, SigV4)?
    /// When an answer last came, by this machine's clock.
    var nowMs: Int64 = 0
    /// What to add to this machine's clock to get the server's, where that is more than an answer's
    /// way takes.
    var dateOffsetMs: Int64 = 0
    /// The last timetoken that was given out.
    var timetoken: Int64 = 0
  }

  /// Describes a bucket; nothing is asked yet.
  ///
  /// - Parameters:
  ///   - settings: as configured.
  ///   - profile: where credentials and a region come from that are not configured.
  package init(_ settings: S3Settings, profile: AWSProfile) {
    self.settings = settings
    self.profile = profile
    let host = settings.endpoint.map { SigV4.host(of: $0) } ?? "s3.amazonaws.com"
    let provider = Provider(settings.provider) ?? Provider(host: host)
    // R2 has no regions, whatever AWS's variables say.
    let region = settings.region ?? (provider == .r2 ? nil : profile.region())
    state = Mutex(
      State(
        endpoint: Endpoint(settings, region: region, provider: provider),
        provider: provider,
        credentials: settings.credentials ?? profile.credentials(),
        areGiven: settings.credentials != nil
      )
    )
  }

  /// Describes a bucket to a process with these environment variables.
  package convenience init(_ settings: S3Settings, environment: [String: String]) {
    self.init(settings, profile: AWSProfile(environment: environment, profile: settings.profile))
  }

  package func replaceCredentials(by credentials: RemoteCredentials) throws(TransferError) {
    guard let id = credentials.accessKeyID, let key = credentials.secretAccessKey,
      credentials.idToken == nil, credentials.authToken == nil, credentials.accessToken == nil
    else {
      throw TransferError(
        .invalidArgument,
        "A remote of kind s3 takes accessKeyId and secretAccessKey, and sessionToken where the key "
          + "is a temporary one."
      )
    }
    let replaced = S3Settings.Credentials(
      accessKeyID: Secret(id),
      secretAccessKey: Secret(key),
      sessionToken: credentials.sessionToken.map { Secret($0) }
    )
    state.withLock { state in
      state.credentials = replaced
      state.areGiven = true
      state.signer = nil
    }
  }

  /// Where the objects are, for people.
  var place: String { settings.place }

  /// The bucket's name.
  var bucket: String { settings.bucket }

  /// Bytes of a part, where the configuration says so.
  var partSize: Int64? { settings.partSize }

  /// What kind of server it is; nil while nothing told.
  var provider: Provider? { state.withLock { $0.provider } }

  /// Where the bucket is asked.
  var endpoint: Endpoint { state.withLock { $0.endpoint } }

  package func authorize(
    _ request: HTTPRequest,
    nowMs: Int64
  ) throws(TransferError) -> HTTPRequest {
    if let latest = request.latestMs, nowMs + clockOffset > latest { throw Self.tooLate }
    let signing = try signing(nowMs)
    var signed = request
    signed.origin = signing.origin
    signed.headers.removeAll { header in
      ["authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"]
        .contains(header.name.lowercased())
    }
    let payload = Self.payload(of: request)
    signed.headers.append(HTTPHeader("x-amz-date", signing.time))
    signed.headers.append(HTTPHeader("x-amz-content-sha256", payload))
    if let token = signing.sessionToken {
      signed.headers.append(HTTPHeader("x-amz-security-token", token.text))
    }
    let authorization = signing.signer.authorization(signed, payload: payload, time: signing.time)
    signed.headers.append(HTTPHeader("Authorization", authorization))
    return signed
  }

  /// A URL that fetches a key without credentials for some seconds.
  func presigned(_ key: String, seconds: Int64, nowMs: Int64) throws(TransferError) -> SignedURL {
    let signing = try signing(nowMs)
    var request = HTTPRequest(.get, origin: signing.origin, path: endpoint.path(of: key))
    request.query = signing.signer.presignedQuery(
      request,
      sessionToken: signing.sessionToken?.text,
      seconds: seconds,
      time: signing.time
    )
    return SignedURL(request.url, expiresMs: nowMs + seconds * 1000)
  }

  package func judge(
    _ response: HTTPResponse,
    to request: HTTPRequest,
    nowMs: Int64
  ) -> HTTPVerdict {
    let isProbe = request.method == .head && request.path == endpoint.bucketPath
    learnProvider(
      from: response,
      isDecisive: provider == nil && response.status < 500 && (isProbe || response.isOfS3)
    )
    learnTime(from: response, to: request, nowMs: nowMs)
    guard
      let fault = S3Fault(response, result: Self.hasResult(request))
        ?? Self.missingResult(response, to: request)
    else {
      return .accept
    }
    let error = error(fault, Self.deed(of: request))
    if learnClock(from: response, nowMs: nowMs) || learnPlace(from: fault, response)
      || (fault.isOldCredentials && reloadCredentials())
    {
      return .amend(error)
    }
    let isConflict = fault.code == "ConditionalRequestConflict" && request.method == .put
    guard fault.isTransient || isConflict else { return .accept }
    return .retry(
      error,
      after: Self.pause(response, nowMs: nowMs),
      isThrottled: fault.isThrottled
    )
  }

  /// A fault as hosts hear it, free of secrets.
  func error(_ fault: S3Fault, _ what: String) -> TransferError {
    let secrets = state.withLock { ($0.credentials?.secrets ?? []) + $0.spent.all.map { $0 } }
    return fault.error("\(what) \(place)", secrets: secrets.compactMap { $0 })
  }
}

extension S3Settings.Credentials {
  fileprivate var secrets: [Secret?] { [accessKeyID, secretAccessKey, sessionToken] }
}

// MARK: - Signing

extension S3Remote {
  private struct Signing {
    var origin: String
    var signer: SigV4
    var sessionToken: Secret?
    var time: String
  }

  private func signing(_ nowMs: Int64) throws(TransferError) -> Signing {
    let signing: Signing? = state.withLock { state in
      if state.credentials == nil { state.credentials = profile.credentials() }
      guard let credentials = state.credentials else { return nil }
      let time = ServerTime.basic(nowMs + state.clockOffsetMs)
      let day = String(time.prefix(8))
      let signer: SigV4
      if let kept = state.signer, kept.day == day {
        signer = kept.1
      } else {
        signer = SigV4(
          accessKeyID: credentials.accessKeyID.text,
          secretAccessKey: credentials.secretAccessKey.text,
          day: day,
          region: state.endpoint.region
        )
        state.signer = (day, signer)
      }
      return Signing(
        origin: state.endpoint.origin,
        signer: signer,
        sessionToken: credentials.sessionToken,
        time: time
      )
    }
    if let signing { return signing }
    throw TransferError(
      .unauthenticated,
      "There are no credentials for \(place): set accessKeyId and secretAccessKey in the "
        + "configuration, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or profile "
        + "\"\(profile.profileName)\" in ~/.aws/credentials; or give them with remote/credentials."
    )
  }

  /// Bodies in memory are hashed; contents travel with a checksum of their own instead, since
  /// hashing them first would read them twice and not every server compares.
  private static func payload(of request: HTTPRequest) -> String {
    var bytes: [UInt8] = []
    for piece in request.body ?? [] {
      guard case .bytes(let more) = piece, bytes.count + more.count <= 1 << 20 else {
        return SigV4.unsignedPayload
      }
      bytes += more
    }
    return bytes.isEmpty ? Self.sha256OfNothing : SigV4.sha256(bytes)
  }

  private static let sha256OfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
}

// MARK: - Learning

extension S3Remote {
  /// Takes from an answer what kind of server gave it.
  ///
  /// Failures may be of what lies between. That nobody knows the server holds until an answer tells,
  /// and is learned only from one that is `isDecisive`.
  func learnProvider(from response: HTTPResponse, isDecisive: Bool = true) {
    let told = response.status < 500 ? Provider(answer: response) : .other
    state.withLock { state in
      guard state.provider == nil || state.provider == .other else { return }
      if told != .other || (isDecisive && state.provider == nil) { state.provider = told }
    }
  }

  /// Takes from an answer that is no failure what time it is, which that nothing is there is none of;
  /// a download's date is of its beginning.
  private func learnTime(
    from response: HTTPResponse,
    to request: HTTPRequest,
    nowMs: Int64
  ) {
    state.withLock { $0.nowMs = nowMs }
    guard response.isSuccess || response.status == 404,
      request.method != .get || request.lane == .call,
      let date = date(of: response)
    else { return }
    state.withLock { state in
      let offset = date + 500 - nowMs
      state.dateOffsetMs = abs(offset) > 2000 ? offset : 0
    }
  }

  /// The date of an answer; nil where there is none, or one further than a day from the time by
  /// which the server takes signatures.
  func date(of response: HTTPResponse) -> Int64? {
    guard let date = response.header("date").flatMap({ ServerTime.parse(http: $0) }) else {
      return nil
    }
    return state.withLock { abs(date - $0.nowMs - $0.clockOffsetMs) <= Self.dayMs ? date : nil }
  }

  private static let dayMs: Int64 = 86_400_000

  /// When an answer last came, by this machine's clock; 0 before the first.
  var nowMs: Int64 { state.withLock { $0.nowMs } }

  /// When an answer last came, by the server's clock as far as it is known.
  var serverNowMs: Int64 { state.withLock { $0.nowMs + $0.dateOffsetMs } }

  /// What to add to this machine's clock to get the server's, in milliseconds; 0 where they agree
  /// as far as an answer can tell.
  var clockOffset: Int64 { state.withLock { $0.dateOffsetMs } }

  /// A moment for a message: by the server's clock, so that those of all writers are comparable,
  /// and later than any before it from here, unless those were of a clock that was wrong.
  func nextTimetoken() -> Timetoken {
    state.withLock { state in
      let now = (state.nowMs + state.dateOffsetMs) * 10_000 + Int64.random(in: 0..<10_000)
      let minute: Int64 = 600_000_000
      state.timetoken = (now..<now + minute).contains(state.timetoken) ? state.timetoken + 1 : now
      return Timetoken(state.timetoken)
    }
  }

  /// Whether a refusal can come from a clock that is off; then from now on the server's counts.
  private func learnClock(from response: HTTPResponse, nowMs: Int64) -> Bool {
    guard [400, 401, 403].contains(response.status),
      let date = response.header("date").flatMap({ ServerTime.parse(http: $0) })
    else { return false }
    return state.withLock { state in
      // S3 allows 15 minutes; below 5 the reason is another one.
      guard abs(date - nowMs - state.clockOffsetMs) > 300_000 else { return false }
      state.clockOffsetMs = date - nowMs
      return true
    }
  }

  /// Whether a refusal says that the bucket lies elsewhere; then from now on it is asked there.
  private func learnPlace(from fault: S3Fault, _ response: HTTPResponse) -> Bool {
    guard [301, 307, 400, 403].contains(fault.status) else { return false }
    return state.withLock { state in
      let before = state.endpoint
      if let region = fault.region, region != before.region {
        state.endpoint.move(toRegion: region)
      } else if fault.status == 301 || fault.status == 307 {
        let location = response.header("location").map { SigV4.host(of: Self.origin(of: $0)) }
        if let host = fault.endpoint ?? location { state.endpoint.move(toHost: host) }
      }
      guard state.endpoint != before else { return false }
      state.signer = nil
      return true
    }
  }

  /// Whether AWS's files hold other keys by now.
  private func reloadCredentials() -> Bool {
    guard let found = profile.credentials() else { return false }
    return state.withLock { state in
      guard !state.areGiven, state.credentials != found else { return false }
      state.credentials = found
      state.signer = nil
      return true
    }
  }

  private static func origin(of url: String) -> String {
    var slashes = 0
    return String(
      url.prefix { character in
        if character == "/" { slashes += 1 }
        return slashes < 3 && character != "?"
      }
    )
  }
}

// MARK: - Judging

extension S3Remote {
  /// Whether only the answer's body tells that a request succeeded.
  private static func hasResult(_ request: HTTPRequest) -> Bool {
    (request.method == .post && request.query.contains("uploadId="))
      || request.header("x-amz-copy-source") != nil
  }

  /// A status of 200 promises nothing where servers begin to answer before they are done.
  private static func missingResult(_ response: HTTPResponse, to request: HTTPRequest) -> S3Fault? {
    guard hasResult(request) else { return nil }
    let isThere =
      request.method == .post
      ? S3Answer.completedETag(response.body) != nil : S3Answer.isCopied(response.body)
    return isThere ? nil : S3Fault(status: response.status, code: "InternalError", message: "")
  }

  /// What a request does, in words that follow "Cannot".
  private static func deed(of request: HTTPRequest) -> String {
    switch request.method {
    case .get: "read from"
    case .head: "look into"
    case .put, .post, .patch: "write to"
    case .delete: "remove from"
    }
  }

  /// How long the server asks to wait; at most five minutes are believed.
  private static func pause(_ response: HTTPResponse, nowMs: Int64) -> Duration? {
    let longest: Int64 = 300_000
    if let text = response.header("x-amz-retry-after"), let ms = Int64(text), ms >= 0 {
      return .milliseconds(min(ms, longest))
    }
    guard let text = response.header("retry-after") else { return nil }
    if let seconds = Int64(text), seconds >= 0 {
      return .milliseconds(min(seconds, longest / 1000) * 1000)
    }
    guard let date = ServerTime.parse(http: text) else { return nil }
    let now = response.header("date").flatMap { ServerTime.parse(http: $0) } ?? nowMs
    return .milliseconds(min(max(0, date - now), longest))
  }
}

extension HTTPResponse {
  /// Whether it is an S3 server's own, and not of what lies between.
  fileprivate var isOfS3: Bool {
    headers.contains { $0.name.lowercased().hasPrefix("x-amz-") }
  }
}
