import Backends
import TransferModel

/// A download from a bucket: a first small range, which also tells what the object is, then the
/// rest in ranges, side by side where the target is a file.
///
/// All ranges are of one version: its ETag is asked for and compared in every answer, and when the
/// object changes meanwhile, the download begins anew rather than mix two.
struct S3Download: Backend {
  private let remote: S3Remote
  /// Of the object, below the remote's root.
  private let path: String
  /// What a channel's file is called; nil for an object.
  private let fileName: String?
  private let wanted: ByteRange?
  private let target: TransferTarget
  private var step = Step.identify
  private var object: Object?
  private var plan: RangePlan?
  /// What an earlier run or process had, to be gone on with if the object is still the same.
  private var earlier: DownloadCheckpoint?
  /// Exchanges under way, by their ids; nil for all but those that fetch a piece.
  private var exchanges: [Int: Int?] = [:]
  private var nextID = 0
  /// How often the object changed while it was fetched.
  private var changes = 0
  /// Whether it comes in pieces, as far as is known: some servers send everything, at once or later.
  private var givesRanges = true
  /// Whether a host has taken bytes of a stream, which cannot be taken back.
  private var hasStreamed = false

  private static let mostChanges = 3
  /// More than any store takes; what a server says beyond is nonsense, and nothing is planned for it.
  private static let largestObject: Int64 = 64 << 40
  /// Behind the end of any object.
  private static let farthest: Int64 = 1 << 60
  /// What is hashed while nobody notices the time.
  private static let cheapMD5: Int64 = 16 << 20

  private enum Step: Sendable, Equatable {
    /// Learn what kind of server it is, where that decides something.
    case identify
    /// Ask for the first piece, not knowing more.
    case first
    /// Ask what the object is, without its content.
    case look
    /// Open the target, then write what came first.
    case open([UInt8]?)
    case write([UInt8], at: Int64, piece: Int)
    case fetch
    /// All at once: the server does not know ranges.
    case fetchAll
    /// Wait for what is under way, then begin anew.
    case drain
    case finish
    case done(TransferResult)
    case failed(TransferError)
  }

  private struct Object: Sendable, Equatable {
    var metadata: ObjectMetadata
    /// As it came; empty where there is none.
    var etag: String
    /// What is wanted of it.
    var range: Range<Int64>

    /// Whether other ranges can be told to be of the same version.
    var canBePinned: Bool { etag.isValidator }
  }

  /// Begins with nothing asked.
  /// - Throws: what ferry knows that the server would refuse.
  init(
    _ remote: S3Remote,
    path: String,
    fileName: String? = nil,
    range: ByteRange?,
    target: TransferTarget
  ) throws(TransferError) {
    self.remote = remote
    self.path = path
    self.fileName = fileName
    wanted = range
    self.target = target
    let key = try remote.key(path)
    if remote.provider != nil || !KeyRules.isDelicate(key) { step = start }
  }

  var width: Int { step == .fetch && isFile ? 4 : 1 }

  var settled: Int64 { plan?.settled ?? 0 }

  var checkpoint: [UInt8]? {
    guard isFile else { return nil }
    guard let object, let plan, comesInPieces else { return earlier?.text }
    // What comes at once is fetched again rather than gone on with.
    if plan.size <= RangePlan.firstSize { return nil }
    return DownloadCheckpoint(etag: object.etag, size: object.metadata.size, pieces: plan.text).text
  }

  mutating func next() -> BackendStep {
    do throws(TransferError) {
      switch step {
      case .identify: return ask(remote.probe, .prepare)
      case .first: return ask(try firstRequest(), .download)
      case .look: return ask(remote.request(.head, try remote.key(path)), .prepare)
      case .open: return .content(.openTarget(incoming))
      case .write(let bytes, let offset, _): return .content(.write(bytes, at: offset))
      case .fetch: return try fetchNext()
      case .fetchAll: return ask(try wholeRequest(), .download)
      case .drain:
        guard exchanges.isEmpty else { return .idle }
        step = start
        return next()
      case .finish: return exchanges.isEmpty ? .content(.finishTarget) : .idle
      case .done(let result): return .done(result)
      case .failed(let error): return .fail(error)
      }
    } catch {
      step = .failed(error)
      return .fail(error)
    }
  }

  mutating func receive(_ outcome: StepOutcome) {
    do throws(TransferError) {
      switch outcome {
      case .answered(let id, let response):
        guard let piece = exchanges.removeValue(forKey: id) else { return }
        if let piece { try take(response, ofPiece: piece) } else { try take(response) }
      case .interrupted(let id):
        if case .some(.some(let piece)) = exchanges.removeValue(forKey: id) {
          plan?.giveBack(piece)
        }
      case .targetOpened(let isKept): opened(isKept: isKept)
      case .written: written()
      case .targetFinished(var download):
        if fileName == nil { download.metadata = object?.metadata }
        step = .done(.downloaded(download))
      case .recovered, .staged, .filled, .objectPublished, .filePublished, .announced, .opened,
        .delivered, .sourceOpened, .sourceVerified, .remembered, .failed:
        preconditionFailure("\(outcome.name) is of no download over HTTP")
      }
    } catch {
      step = .failed(error.during(.download))
    }
  }

  mutating func restart() {
    if case .done = step { return }
    // With a plan, the run had the target in hand, and it was thrown away.
    if plan != nil { earlier = nil }
    object = nil
    plan = nil
    exchanges = [:]
    changes = 0
    hasStreamed = false
    step = step == .identify ? .identify : start
  }

  mutating func recover(_ checkpoint: [UInt8]?) {
    earlier = checkpoint.flatMap { DownloadCheckpoint($0) }
    if step != .identify { step = start }
  }
}

// MARK: - What follows what

extension S3Download {
  private var isFile: Bool {
    switch target {
    case .path, .temporary: true
    case .inline, .stream: false
    }
  }

  /// Whether it is fetched piece by piece.
  private var comesInPieces: Bool { givesRanges && object?.canBePinned == true }

  /// Where there is something to go on with, or nothing to fetch, the object is only looked at.
  private var start: Step {
    let isNothing = wanted?.length == 0 || (wanted?.offset ?? 0) > Self.farthest
    return earlier != nil || isNothing ? .look : .first
  }

  /// One exchange at a time, except for pieces.
  private mutating func ask(
    _ request: HTTPRequest,
    _ phase: TransferError.Phase,
    piece: Int? = nil
  ) -> BackendStep {
    if piece == nil, !exchanges.isEmpty { return .idle }
    nextID += 1
    exchanges[nextID] = .some(piece)
    return .http(HTTPExchange(id: nextID, request, phase: phase))
  }

  private mutating func fetchNext() throws(TransferError) -> BackendStep {
    if plan?.isComplete == true {
      step = .finish
      return next()
    }
    guard isFile || exchanges.isEmpty, let piece = plan?.takeNext() else { return .idle }
    return ask(try pieceRequest(piece), .download, piece: piece)
  }

  private mutating func opened(isKept: Bool) {
    guard case .open(let bytes) = step, let object else { return }
    if !isKept { plan = RangePlan(size: Int64(object.range.count), isFile: isFile) }
    if let bytes, !bytes.isEmpty {
      step = .write(bytes, at: 0, piece: 0)
    } else if plan?.isComplete == true {
      step = .finish
    } else {
      step = comesInPieces ? .fetch : .fetchAll
    }
  }

  private mutating func written() {
    guard case .write(let bytes, _, let piece) = step else { return }
    hasStreamed = target == .stream
    if Int64(bytes.count) == plan?.size { plan?.finishAll() } else { plan?.finish(piece) }
    step = .fetch
  }

  private mutating func take(_ response: HTTPResponse) throws(TransferError) {
    switch step {
    case .identify:
      remote.learnProvider(from: response)
      _ = try remote.key(path)
      step = start
    case .first: try take(first: response)
    case .look:
      if let fault = S3Fault(response) { throw remote.error(fault, "find \(path) in") }
      try describe(try remote.metadata(of: path, response), response)
      step = .open(nil)
    case .fetchAll:
      if let fault = S3Fault(response) { throw remote.error(fault, "fetch \(path) from") }
      guard isSame(response), response.delivered == plan?.size else { return try beginAnew() }
      plan?.finishAll()
      step = .finish
    case .open, .write, .fetch, .drain, .finish, .done, .failed: break
    }
  }

  private mutating func take(first response: HTTPResponse) throws(TransferError) {
    if let fault = S3Fault(response) {
      // Nothing has a first byte: look whether that is so.
      if fault.status == 416 { return step = .look }
      throw remote.error(fault, "fetch \(path) from")
    }
    let start = wanted?.offset ?? 0
    if let came = ContentRange(response) {
      guard let total = came.total, came.range.lowerBound == start,
        came.range.upperBound == min(start + firstLength, total),
        response.body.count == came.range.count
      else { throw wrongBytes }
      try describe(try remote.metadata(of: path, response, size: total), response)
      let isAll = object?.range.count == response.body.count
      // What comes whole comes from the start.
      return step = .open(isAll || comesInPieces ? response.body : nil)
    }
    // A part of it, and nobody says which.
    guard response.status != 206 else { throw wrongBytes }
    // No range: all of it, as far as it was taken.
    let size = response.isCut ? nil : Int64(response.body.count)
    try describe(try remote.metadata(of: path, response, size: size), response)
    guard let object else { return }
    if object.range.upperBound <= Int64(response.body.count) {
      return step = .open(Array(response.body[object.range.asIndices]))
    }
    try expectWhole(object)
    step = .open(nil)
  }

  /// The server sends all of it, whatever range is asked for.
  private mutating func expectWhole(_ object: Object) throws(TransferError) {
    guard isFile, object.range == 0..<object.metadata.size else {
      throw TransferError(
        .unsupported,
        "\(remote.place) sends all of \(path) whatever range is asked for; fetch it whole, "
          + "to a file."
      )
    }
    givesRanges = false
  }

  private mutating func take(
    _ response: HTTPResponse,
    ofPiece piece: Int
  ) throws(TransferError) {
    guard step == .fetch, let object, let range = plan?.range(of: piece) else { return }
    if let fault = S3Fault(response) {
      if fault.status == 412 || fault.status == 416 { return try beginAnew() }
      throw remote.error(fault, "fetch \(path) from")
    }
    guard isSame(response) else { return try beginAnew() }
    let start = object.range.lowerBound
    let came = ContentRange(response)
    if came == nil, response.status != 206 {
      try expectWhole(object)
      return drain()
    }
    let count = isFile ? response.delivered : Int64(response.body.count)
    guard came?.range == start + range.lowerBound..<start + range.upperBound,
      count == Int64(range.count)
    else { throw wrongBytes }
    if isFile {
      plan?.finish(piece)
    } else {
      step = .write(response.body, at: range.lowerBound, piece: piece)
    }
  }

  /// Whether an answer is of the version that is being fetched.
  private func isSame(_ response: HTTPResponse) -> Bool {
    guard let object, object.canBePinned else { return true }
    return response.header("etag").map { $0 == object.etag } ?? true
  }

  /// The object is another one by now.
  private mutating func beginAnew() throws(TransferError) {
    changes += 1
    guard changes <= Self.mostChanges, !hasStreamed else {
      throw TransferError(
        .checksumMismatch,
        "\(path) changed on the remote while it was fetched"
          + (hasStreamed ? "" : ", \(changes) times") + "; fetch it again."
      )
    }
    drain()
  }

  private mutating func drain() {
    object = nil
    plan = nil
    earlier = nil
    step = .drain
  }

  /// Takes in what the object is.
  private mutating func describe(
    _ metadata: ObjectMetadata,
    _ response: HTTPResponse
  ) throws(TransferError) {
    guard metadata.size <= Self.largestObject else {
      throw TransferError(
        .server,
        "\(remote.place) says that \(path) has \(metadata.size) bytes, which no store holds; check "
          + "what lies between."
      )
    }
    let start = wanted?.offset ?? 0
    guard start <= metadata.size else {
      throw TransferError(
        .invalidArgument,
        "The range starts at \(start); the object has \(metadata.size) bytes.",
        field: "/range/offset"
      )
    }
    let length = min(wanted?.length ?? .max, metadata.size - start)
    let etag = response.header("etag") ?? ""
    let object = Object(metadata: metadata, etag: etag, range: start..<start + length)
    let isWholeFile = isFile && length == metadata.size
    guard object.canBePinned || isWholeFile || length <= Int64(response.body.count) else {
      throw TransferError(
        .unsupported,
        "\(remote.place) gives \(path) no strong ETag, without which pieces of it may be of several "
          + "versions; fetch it whole, to a file."
      )
    }
    self.object = object
    if let earlier, earlier.etag == etag, earlier.size == metadata.size {
      plan = RangePlan(size: length, text: earlier.pieces)
    } else {
      plan = RangePlan(size: length, isFile: isFile)
    }
    earlier = nil
  }

  private var incoming: IncomingContent {
    guard let object else { preconditionFailure("opened before it was described") }
    let isWhole = object.range == 0..<object.metadata.size
    let sha256 = isWhole ? object.metadata.sha256 : nil
    let isCheap = isWhole && sha256 == nil && object.metadata.size <= Self.cheapMD5
    return IncomingContent(
      size: Int64(object.range.count),
      name: fileName ?? object.metadata.name,
      identity: "\(object.metadata.etag) \(object.metadata.size)",
      sha256: sha256,
      md5: isCheap ? object.metadata.md5 : nil
    )
  }

  private var wrongBytes: TransferError {
    TransferError(
      .server,
      "\(remote.place) sent other bytes of \(path) than were asked for; try again, and check "
        + "what lies between."
    )
  }
}

// MARK: - Requests

extension S3Download {
  private var firstLength: Int64 { min(RangePlan.firstSize, wanted?.length ?? .max) }

  private func firstRequest() throws(TransferError) -> HTTPRequest {
    let start = wanted?.offset ?? 0
    var request = try ranged(start..<start + firstLength)
    // More than was asked for comes from servers that know no ranges.
    request.sink = .beginning(limit: Int(RangePlan.firstSize))
    return request
  }

  private func pieceRequest(_ piece: Int) throws(TransferError) -> HTTPRequest {
    guard let object, let range = plan?.range(of: piece) else {
      preconditionFailure("a piece of nothing")
    }
    let start = object.range.lowerBound
    var request = try ranged(start + range.lowerBound..<start + range.upperBound)
    request.headers.append(HTTPHeader("If-Match", object.etag))
    request.sink =
      isFile
      ? .target(offset: range.lowerBound, length: Int64(range.count))
      : .memory(limit: range.count)
    return request
  }

  private func wholeRequest() throws(TransferError) -> HTTPRequest {
    var request = remote.request(.get, try remote.key(path))
    request.lane = .bulk
    request.sink = .target(offset: 0, length: plan?.size ?? 0)
    return request
  }

  private func ranged(_ range: Range<Int64>) throws(TransferError) -> HTTPRequest {
    var request = remote.request(
      .get,
      try remote.key(path),
      headers: [HTTPHeader("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")]
    )
    request.lane = .bulk
    return request
  }
}

extension Range<Int64> {
  /// The same, of an array that is at least as long.
  fileprivate var asIndices: Range<Int> { Int(lowerBound)..<Int(upperBound) }
}
