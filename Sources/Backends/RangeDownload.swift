package import Crypto
package import JSON
package import TransferModel

/// Where a service keeps a file, as a download finds it: questions until there is an address.
package protocol DownloadPlace: Sendable {
  /// What to ask next to learn the address; nil where that is known.
  var question: HTTPRequest? { get }
  /// The address that needs no question.
  var address: HTTPURL? { get }
  /// What the file is called; known once there is an address.
  var name: String { get }
  /// Takes the answer to the question.
  /// - Returns: the address, or nil where there is another question first.
  mutating func take(_ response: HTTPResponse) throws(TransferError) -> HTTPURL?
  /// The error of an answer of the storage that is no success.
  func error(_ response: HTTPResponse) -> TransferError
  /// Whether a new address may help after such an error.
  func isExpired(_ error: TransferError) -> Bool
  /// What finds the file again in a later process, as members of an object.
  func write(to writer: inout JSONWriter)
  /// The place of which `write` wrote the members; nil for none.
  func restored(from members: Members) -> Self?
}

/// Fetches a file: the service says where it is, the storage behind it gives it range by range.
///
/// The storage gets nothing of ours: the address is all it needs.
package struct RangeDownload<Place: DownloadPlace>: Backend {
  private var place: Place
  private let cipher: ContentCipher?
  /// Whether bytes can go to the target in any order, without passing through memory.
  private let isDirect: Bool

  private var stage = Stage.ask
  /// Where the storage has it; signed, so it is kept nowhere.
  private var url: HTTPURL?
  private var hops = 0
  /// Times that the service said where it is.
  private var asked = 0
  private var beginning: [UInt8] = []
  private var size: Int64?
  private var etag: String?
  private var done: Int64 = 0
  /// Whether an earlier process has left bytes.
  private var isResumed = false

  private enum Stage {
    case ask, first, open, write, remember, more, finish
    case failed(TransferError)
    case done(TransferResult.Download)
  }

  /// The first range comes before the size is known; most files fit.
  private static var firstBytes: Int64 { 512 << 10 }
  /// Later ones: through memory, where they are beside what was decrypted of them, or straight to the
  /// target.
  private static var encryptedBytes: Int64 { 512 << 10 }
  private static var memoryBytes: Int64 { 1 << 20 }
  private static var directBytes: Int64 { 8 << 20 }
  private static var maxHops: Int { 5 }
  /// A URL of the storage is good for some minutes: one that expired is asked for again.
  private static var maxAsked: Int { 3 }

  /// `isFile`: the target takes bytes in any order; then they do not pass through memory, unless
  /// they are decrypted on the way.
  package init(_ place: Place, cipher: ContentCipher? = nil, isFile: Bool) {
    self.place = place
    self.cipher = cipher
    isDirect = isFile && cipher == nil
  }

  package mutating func next() -> BackendStep {
    switch stage {
    case .ask:
      if let question = place.question { return exchange(question) }
      guard let address = place.address else {
        preconditionFailure("neither an address nor a question for it")
      }
      located(at: address)
      return next()
    case .first:
      return exchange(range(0..<Self.firstBytes, .beginning(limit: Int(Self.firstBytes))))
    case .open:
      return .content(
        .openTarget(
          IncomingContent(size: size, name: place.name, identity: identity, cipher: cipher)
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

  /// Also of one that asks again where its content is.
  private var isBegun: Bool { size != nil }

  private mutating func more() -> BackendStep {
    guard let size, done < size else {
      stage = .finish
      return next()
    }
    guard url != nil else {
      stage = .ask
      return next()
    }
    let most =
      isDirect ? Self.directBytes : cipher == nil ? Self.memoryBytes : Self.encryptedBytes
    let length = min(size - done, most)
    let sink: HTTPSinkKind =
      isDirect
      ? .target(offset: done, length: length) : .memory(limit: Int(length))
    return exchange(range(done..<done + length, sink))
  }

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

  private var identity: String { "\(etag ?? "")/\(size.map(String.init) ?? "")" }

  package mutating func receive(_ outcome: StepOutcome) {
    switch (outcome, stage) {
    case (.answered(_, let response), .ask):
      attempt { (run: inout Self) throws(TransferError) in
        if let address = try run.place.take(response) { run.located(at: address) }
      }
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
    case (.targetFinished(let download), .open), (.targetFinished(let download), .finish):
      stage = .done(download)
    case (.interrupted, _): break
    default: preconditionFailure("\(outcome.name) does not follow")
    }
  }

  private mutating func attempt(
    _ body: (inout Self) throws(TransferError) -> Void
  ) {
    do throws(TransferError) {
      try body(&self)
    } catch {
      stage = .failed(error.during(isBegun ? .download : .prepare))
    }
  }

  private mutating func located(at address: HTTPURL) {
    asked += 1
    hops = 1
    url = address
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
    url = try HTTPURL(redirect: response, from: origin)
  }

  /// What the storage says to a range: go on, follow it elsewhere, or ask for a new
  /// address.
  private mutating func accepts(_ response: HTTPResponse) throws(TransferError) -> Bool {
    if response.isSuccess || response.status == 416 { return true }
    if (300..<400).contains(response.status), let url {
      try follow(response, from: url.origin)
      return false
    }
    let error = place.error(response)
    if place.question != nil, asked < Self.maxAsked, place.isExpired(error) {
      url = nil
      stage = .ask
      return false
    }
    throw error
  }

  private mutating func begun(_ response: HTTPResponse) throws(TransferError) {
    guard try accepts(response) else { return }
    etag = response.header("ETag")
    if let came = ContentRange(response) {
      guard came.range.lowerBound == 0 else { throw Self.wrongRange }
      size = came.total
      beginning = response.body
    } else if !response.isSuccess {
      // Nothing is there to take a range of.
      size = 0
    } else if response.isCut {
      throw Self.noRanges
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
    let came = ContentRange(response)
    if came == nil, response.isSuccess, response.status != 206 { throw Self.noRanges }
    guard let came, response.status == 206, came.range.lowerBound == done, came.total == size
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

  private static var noRanges: TransferError {
    TransferError(
      .server,
      "The storage gives no ranges of the file; something between may be in the way."
    )
  }

  private static var wrongRange: TransferError {
    TransferError(
      .server,
      "The storage gave other bytes of the file than were asked for; try again.",
      phase: .download
    )
  }

  package var settled: Int64 { done }

  package mutating func restart() {
    stage = .ask
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
extension RangeDownload {
  package var checkpoint: [UInt8]? {
    // What was decrypted so far cannot be gone on with.
    guard isDirect, let size, let etag, done > 0 else { return nil }
    var writer = JSONWriter()
    writer.beginObject()
    place.write(to: &writer)
    writer.field("size", size)
    writer.field("etag", etag)
    writer.field("done", done)
    writer.endObject()
    return writer.take()
  }

  package mutating func recover(_ checkpoint: [UInt8]?) {
    guard isDirect, let checkpoint, let node = try? JSONNode(parsing: checkpoint) else { return }
    let members = Members(node)
    guard let place = place.restored(from: members), let size = members.int("size"),
      let done = members.int("done"), let etag = members.string("etag")
    else { return }
    self.place = place
    self.size = size
    self.etag = etag
    self.done = done
    isResumed = true
    stage = .ask
  }
}
