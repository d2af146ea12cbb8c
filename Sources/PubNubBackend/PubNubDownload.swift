internal import Backends
internal import Configuration
internal import Crypto
internal import JSON
internal import TransferModel

/// Fetches a file of a channel: PubNub says where it is, the storage gives it range by range.
struct PubNubDownload: Backend {
  private var place: PubNubRemote.Place
  private let remote: PubNubRemote
  private let cipher: ContentCipher?
  private let cipherKey: Secret?
  /// Whether bytes can go to the target in any order, without passing through memory.
  private let isDirect: Bool

  private var stage = Stage.locate
  /// Where the storage has it; signed, so it is kept nowhere.
  private var url: HTTPURL?
  private var hops = 0
  /// Times that PubNub was asked where it is.
  private var asked = 0
  private var beginning: [UInt8] = []
  private var size: Int64?
  private var etag: String?
  private var done: Int64 = 0
  /// Whether an earlier process has left bytes.
  private var isResumed = false

  private enum Stage {
    case locate, ask, first, open, write, remember, more, finish
    case failed(TransferError)
    case done(TransferResult.Download)
  }

  /// The first range comes before the size is known; most files fit.
  private static let firstBytes: Int64 = 1 << 20
  /// Later ones: through memory, or straight to the target.
  private static let memoryBytes: Int64 = 1 << 20
  private static let directBytes: Int64 = 8 << 20
  private static let maxHops = 5
  /// A URL of the storage is good for some minutes: one that expired is asked for again.
  private static let maxAsked = 3

  init(
    _ place: PubNubRemote.Place,
    remote: PubNubRemote,
    cipher: ContentCipher?,
    cipherKey: Secret?,
    isFile: Bool
  ) {
    self.place = place
    self.remote = remote
    self.cipher = cipher
    self.cipherKey = cipherKey
    isDirect = isFile && cipher == nil
  }

  mutating func next() -> BackendStep {
    switch stage {
    case .locate:
      switch place {
      case .message(let channel, let timetoken):
        return exchange(remote.messageRequest(channel: channel, timetoken: timetoken))
      case .file:
        stage = .ask
        return next()
      }
    case .ask:
      guard case .file(let channel, let id, let name) = place else {
        preconditionFailure("asked for before it was found")
      }
      asked += 1
      return exchange(remote.contentRequest(channel: channel, id: id, name: name))
    case .first:
      return exchange(range(0..<Self.firstBytes, .beginning(limit: Int(Self.firstBytes))))
    case .open:
      return .content(
        .openTarget(
          IncomingContent(size: size, name: name, identity: identity, cipher: cipher)
        )
      )
    case .write:
      return .content(.write(beginning, at: done))
    case .remember:
      return .content(.remember)
    case .more:
      return more()
    case .finish:
      return .content(.finishTarget)
    case .failed(let error):
      return .fail(error)
    case .done(let download):
      return .done(.downloaded(download))
    }
  }

  private func exchange(_ request: HTTPRequest) -> BackendStep {
    .http(HTTPExchange(request, phase: isBegun ? .download : .prepare))
  }

  private var isBegun: Bool {
    switch stage {
    case .locate, .ask, .first: false
    case .open, .write, .remember, .more, .finish, .failed, .done: true
    }
  }

  private mutating func more() -> BackendStep {
    guard let size, done < size else {
      stage = .finish
      return next()
    }
    guard url != nil else {
      stage = .ask
      return next()
    }
    let length = min(size - done, isDirect ? Self.directBytes : Self.memoryBytes)
    let sink: HTTPSinkKind =
      isDirect
      ? .target(offset: done, length: length) : .memory(limit: Int(length))
    return exchange(range(done..<done + length, sink))
  }

  /// The storage gets nothing of ours: the URL is all it needs.
  private func range(_ range: Range<Int64>, _ sink: HTTPSinkKind) -> HTTPRequest {
    guard let url else { preconditionFailure("fetched before it was found") }
    return HTTPRequest(
      .get,
      origin: url.origin,
      path: url.path,
      query: url.query,
      headers: [HTTPHeader("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")],
      sink: sink,
      lane: .bulk
    )
  }

  private var name: String {
    if case .file(_, _, let name) = place { name } else { "" }
  }

  private var identity: String { "\(etag ?? "")/\(size.map(String.init) ?? "")" }

  mutating func receive(_ outcome: StepOutcome) {
    switch (outcome, stage) {
    case (.answered(_, let response), .locate):
      attempt { (run: inout Self) throws(TransferError) in try run.located(response) }
    case (.answered(_, let response), .ask):
      attempt { (run: inout Self) throws(TransferError) in try run.redirected(response) }
    case (.answered(_, let response), .first):
      attempt { (run: inout Self) throws(TransferError) in try run.begun(response) }
    case (.targetOpened(let isKept), .open):
      if !isKept { done = 0 }
      isResumed = false
      stage = beginning.isEmpty || isKept ? .more : .write
    case (.written, .write):
      done += Int64(beginning.count)
      beginning = []
      // A later process goes on from here, and from wherever this one gets.
      stage = isDirect && done < size ?? 0 ? .remember : .more
    case (.remembered, .remember): stage = .more
    case (.answered(_, let response), .more):
      attempt { (run: inout Self) throws(TransferError) in try run.continued(response) }
    case (.targetFinished(let download), .finish): stage = .done(download)
    case (.interrupted, _): break
    default: preconditionFailure("\(outcome.name) does not follow")
    }
  }

  private mutating func attempt(
    _ body: (inout PubNubDownload) throws(TransferError) -> Void
  ) {
    do throws(TransferError) {
      try body(&self)
    } catch {
      stage = .failed(error.during(isBegun ? .download : .prepare))
    }
  }

  private mutating func located(_ response: HTTPResponse) throws(TransferError) {
    guard case .message(let channel, let timetoken) = place else { return }
    let message = try remote.message(
      response,
      channel: channel,
      timetoken: timetoken,
      cipher: remote.cipher(cipherKey)
    )
    guard let file = message.file else {
      throw message.error
        ?? TransferError(
          .notFound,
          "The message of \(timetoken) on channel \"\(channel)\" announces no file."
        )
    }
    place = .file(channel: channel, id: file.id, name: file.name)
    stage = .ask
  }

  /// PubNub's answer is a redirect to the storage, whose own may be another.
  private mutating func redirected(_ response: HTTPResponse) throws(TransferError) {
    guard [301, 302, 303, 307, 308].contains(response.status) else {
      throw response.isSuccess
        ? TransferError(.server, "PubNub answered without saying where the file is; try again.")
        : remote.error(response, doing: "say where the file is")
    }
    try follow(response, from: remote.settings.origin)
    stage = size == nil ? .first : isResumed ? .open : .more
  }

  private mutating func follow(
    _ response: HTTPResponse,
    from origin: String
  ) throws(TransferError) {
    hops += 1
    guard hops <= Self.maxHops else {
      throw TransferError(
        .server,
        "The file's redirects lead nowhere: more than \(Self.maxHops) of them; try again later."
      )
    }
    guard let location = response.header("Location"),
      let target = HTTPURL(location, relativeTo: origin),
      !origin.hasPrefix("https:") || target.origin.hasPrefix("https:")
    else {
      throw TransferError(
        .invalidURL,
        "The file's redirect leads to no URL that can be followed; try again later."
      )
    }
    url = target
  }

  /// What the storage says to a range: go on, follow it elsewhere, or ask PubNub again.
  private mutating func accepts(_ response: HTTPResponse) throws(TransferError) -> Bool {
    if response.isSuccess || response.status == 416 { return true }
    if (300..<400).contains(response.status), let url {
      try follow(response, from: url.origin)
      return false
    }
    let error = remote.error(response, doing: "give the file")
    if response.status == 403, asked < Self.maxAsked,
      error.serverMessage?.contains("expired") == true
    {
      url = nil
      hops = 0
      stage = .ask
      return false
    }
    throw error
  }

  private mutating func begun(_ response: HTTPResponse) throws(TransferError) {
    guard try accepts(response) else { return }
    etag = response.header("ETag")
    if let range = ContentRange(response) {
      size = range.total
      beginning = response.status == 416 ? [] : response.body
      guard range.start == 0 || response.status == 416 else { throw Self.wrongRange }
    } else if !response.isSuccess {
      // Nothing is there to take a range of.
      size = 0
    } else if response.isCut {
      throw TransferError(
        .server,
        "The storage gives no ranges of the file; something between may be in the way."
      )
    } else {
      // A part of it, and nobody says which.
      guard response.status != 206 else { throw Self.wrongRange }
      size = Int64(response.body.count)
      beginning = response.body
    }
    guard let size, Int64(beginning.count) == min(size, Self.firstBytes) else {
      throw Self.wrongRange
    }
    stage = .open
  }

  private mutating func continued(_ response: HTTPResponse) throws(TransferError) {
    guard try accepts(response) else { return }
    guard let range = ContentRange(response), response.status == 206, range.start == done,
      range.total == size
    else { throw Self.wrongRange }
    guard response.header("ETag") == etag else {
      throw TransferError(
        .checksumMismatch,
        "The file changed while it was fetched; fetch it again.",
        phase: .download
      )
    }
    guard isDirect ? response.delivered > 0 : !response.body.isEmpty else {
      throw Self.wrongRange
    }
    hops = 0
    asked = 0
    guard isDirect else {
      beginning = response.body
      stage = .write
      return
    }
    done += response.delivered
  }

  private static let wrongRange = TransferError(
    .server,
    "The storage gave other bytes of the file than were asked for; try again.",
    phase: .download
  )

  var settled: Int64 { done }

  mutating func restart() {
    stage = .locate
    url = nil
    hops = 0
    asked = 0
    beginning = []
    size = nil
    etag = nil
    done = 0
    isResumed = false
  }
}

/// What outlives the process: how much of what is in the part.
extension PubNubDownload {
  var checkpoint: [UInt8]? {
    // What was decrypted so far cannot be gone on with.
    guard isDirect, let size, let etag, done > 0,
      case .file(let channel, let id, let name) = place
    else { return nil }
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("channel", channel)
    writer.field("id", id)
    writer.field("name", name)
    writer.field("size", size)
    writer.field("etag", etag)
    writer.field("done", done)
    writer.endObject()
    return writer.take()
  }

  mutating func recover(_ checkpoint: [UInt8]?) {
    guard isDirect, let checkpoint, let node = try? JSONNode(parsing: checkpoint) else { return }
    let members = Members(node)
    guard let channel = members.string("channel"), let id = members.string("id"),
      let name = members.string("name"), let size = members.int("size"),
      let done = members.int("done"), let etag = members.string("etag")
    else { return }
    place = .file(channel: channel, id: id, name: name)
    self.size = size
    self.etag = etag
    self.done = done
    isResumed = true
    stage = .ask
  }
}

/// `bytes 0-99/1000`, or `bytes */1000` where the range is not there.
struct ContentRange: Equatable {
  var start: Int64
  var total: Int64

  init?(_ response: HTTPResponse) {
    guard let text = response.header("Content-Range"), text.hasPrefix("bytes ") else { return nil }
    let parts = text.dropFirst(6).split(separator: "/")
    guard parts.count == 2, let total = Int64(parts[1]) else { return nil }
    self.total = total
    guard parts[0] != "*" else {
      start = 0
      return
    }
    guard let start = parts[0].split(separator: "-").first.flatMap({ Int64($0) }) else {
      return nil
    }
    self.start = start
  }
}
