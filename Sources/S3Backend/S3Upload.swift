import Backends
import Crypto
import TransferModel

/// An upload to a bucket: one PUT, or above a threshold parts that are sent side by side.
///
/// Every object carries a token of its upload, so that an answer that was lost is settled by
/// looking at the object and not by guessing: where the token is ours, the upload was done.
struct S3Upload: Backend {
  private let remote: S3Remote
  private let destination: UploadDestination
  /// Tells this upload's object from every other.
  private var token: String
  private var content: OutgoingContent?
  private var multipart: MultipartUpload?
  private var step = Step.open
  /// Exchanges under way, by their ids; nil for all but those that send a part.
  private var exchanges: [Int: Int?] = [:]
  private var nextID = 0
  /// What the server has, page by page.
  private var listed: [Int: ListedParts.ListedPart] = [:]
  /// How often the upload was lost on the server and begun anew.
  private var losses = 0
  /// Whether the parts are those an earlier process knew, which the server may know differently.
  private var isRecovered = false
  /// How many uploads may have been begun; of more than one the others are known to nobody.
  private var begun = 0

  private static let mostLosses = 2

  private enum Step: Sendable, Equatable {
    case open
    /// Learn what kind of server it is, where that decides something.
    case identify
    /// Keep the checkpoint before what follows it.
    case rememberToPut, rememberParts
    case put
    /// Make sure that the source is the one whose digest travels with it: before it is put again, and
    /// once it is put.
    case verifyToPut
    case verify(ObjectMetadata)
    case create
    /// Look for uploads that were begun and are known to nobody, and remove them.
    case findStrays
    case removeStrays([String])
    /// Ask which parts the server has, from a part number on.
    case list(after: Int)
    case send
    case complete
    /// Remove parts of another content, then begin anew.
    case abort
    /// Look whether the object there is this upload's.
    case settle(Doubt)
    case done(TransferResult)
    case failed(TransferError)
  }

  /// What the object's token decides.
  private enum Doubt: Sendable, Equatable {
    /// The server no longer knows the upload: it is completed, or lost.
    case isLost
    /// The server said that it is completed, in other words than it will use of the object: not
    /// all give it the same ETag both times.
    case isCompleted(ObjectMetadata)
    /// A condition does not hold: because of another writer, or of this upload itself.
    case isRefused(TransferError)
  }

  /// Begins with nothing asked.
  /// - Throws: what ferry knows that the server would refuse.
  init(
    _ remote: S3Remote,
    _ destination: UploadDestination,
    token: String = RandomID.make()
  ) throws(TransferError) {
    self.remote = remote
    self.destination = destination
    self.token = token
    _ = try remote.key(destination.path)
    try destination.check(token: token)
  }

  var width: Int { step == .send ? remote.provider?.partWidth ?? 1 : 1 }

  var settled: Int64 {
    switch step {
    case .done: content?.size ?? 0
    default: multipart?.settled ?? 0
    }
  }

  var checkpoint: [UInt8]? {
    guard multipart != nil || isConditional else { return nil }
    return UploadCheckpoint(token: token, multipart: multipart).text
  }

  var cleanUp: [HTTPRequest] {
    abortion.map { [$0] } ?? []
  }

  mutating func next() -> BackendStep {
    do throws(TransferError) {
      switch step {
      case .open: return .content(.openSource)
      case .identify: return ask(remote.probe, .prepare)
      case .rememberToPut, .rememberParts: return .content(.remember)
      case .put: return ask(try requests.put(content), .upload)
      case .verifyToPut, .verify: return .content(.verifySource)
      case .create:
        begun += 1
        return ask(try requests.create(), .prepare, outlivesStop: true)
      case .findStrays: return ask(try requests.listUploads(), .prepare, tellsFailure: true)
      case .removeStrays(let ids):
        return ask(try requests.abort(ids[0]), .prepare, tellsFailure: true)
      case .list(let number): return ask(try requests.list(multipart, after: number), .prepare)
      case .send: return try sendNext()
      case .complete: return ask(try requests.complete(multipart), .finish)
      case .abort: return abortion.map { ask($0, .prepare) } ?? .idle
      case .settle: return ask(try requests.look(), .finish)
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
      case .sourceOpened(let content): try begin(content)
      case .remembered: step = step == .rememberToPut ? .put : readyToSend
      case .answered(let id, let response):
        // Answers to what was given up since are for nobody.
        guard let part = exchanges.removeValue(forKey: id) else { return }
        if let part { try take(response, ofPart: part) } else { try take(response) }
      case .failed(let id, _):
        exchanges.removeValue(forKey: id)
        takeStrays([])
      case .interrupted(let id):
        if case .some(.some(let part)) = exchanges.removeValue(forKey: id) {
          multipart?.giveBack(part)
        } else if step == .put {
          step = .verifyToPut
        }
      case .sourceVerified:
        if case .verify(let metadata) = step { finish(metadata) } else { step = .put }
      case .recovered, .staged, .filled, .objectPublished, .filePublished, .announced, .opened,
        .delivered, .targetOpened, .written, .targetFinished:
        preconditionFailure("\(outcome.name) is of no upload over HTTP")
      }
    } catch {
      step = .failed(error.during(phase))
    }
  }

  mutating func restart() {
    if case .done = step { return }
    // What was put of a source that changed meanwhile is not this upload's.
    if case .verify = step { token = RandomID.make() }
    step = .open
    exchanges = [:]
    multipart?.stop()
    listed = [:]
    losses = 0
  }

  mutating func recover(_ checkpoint: [UInt8]?) {
    // It may have been killed before it heard of one.
    begun = 2
    guard let checkpoint = checkpoint.flatMap({ UploadCheckpoint($0) }) else { return }
    token = checkpoint.token
    multipart = checkpoint.multipart
    isRecovered = multipart != nil
  }
}

// MARK: - What follows what

extension S3Upload {
  private var isConditional: Bool { destination.isConditional }

  private var requests: UploadRequests {
    UploadRequests(remote: remote, destination: destination, token: token)
  }

  /// What removes the parts that the server has; nil where there are none, or not any more.
  private var abortion: HTTPRequest? {
    multipart.flatMap { try? requests.abort($0.uploadID) }
  }

  private var phase: TransferError.Phase {
    switch step {
    case .open, .identify, .rememberToPut, .rememberParts, .create, .findStrays, .removeStrays,
      .list, .abort:
      .prepare
    case .put, .verifyToPut, .verify, .send: .upload
    case .complete, .settle, .done, .failed: .finish
    }
  }

  /// Whether the content goes in one PUT.
  private func fitsOnePut(_ size: Int64) -> Bool {
    if size <= max(MultipartUpload.threshold, remote.partSize ?? 0) { return true }
    // Where only a PUT obeys conditions, it is one as long as it can be.
    let obeys = remote.provider?.obeysConditionsOfParts ?? false
    return isConditional && !obeys && size <= MultipartUpload.largestPart
  }

  private mutating func begin(_ content: OutgoingContent) throws(TransferError) {
    self.content = content
    if let multipart {
      guard multipart.size == content.size, multipart.identity == content.identity else {
        // Parts of one content are never completed with parts of another.
        step = .abort
        return
      }
      step = isRecovered ? .list(after: 0) : .send
      return
    }
    let isLarge = content.size > MultipartUpload.threshold
    let isDelicate = KeyRules.isDelicate(try requests.key)
    let isDecisive = isLarge || isConditional || isDelicate
    if remote.provider == nil, isDecisive { step = .identify } else { try chooseWay() }
  }

  private mutating func chooseWay() throws(TransferError) {
    guard let content else { return }
    _ = try requests.key
    let fits = fitsOnePut(content.size)
    if isConditional {
      let provider = remote.provider ?? .other
      guard fits ? provider.obeysConditions : provider.obeysConditionsOfParts else {
        throw TransferError(
          .unsupported,
          "\(provider.title) is not known to obey ifMatch and ifNoneMatch\(fits ? "" : " here"), and "
            + "would overwrite silently; put without, or name the server's kind as provider."
        )
      }
    }
    if !fits {
      guard partSize <= MultipartUpload.largestPart else {
        throw TransferError(.fileSizeExceeded, "S3 takes no objects of \(content.size) bytes.")
      }
      step = .create
    } else {
      step = isConditional ? .rememberToPut : .put
    }
  }

  private var partSize: Int64 {
    MultipartUpload.partSize(for: content?.size ?? 0, wanted: remote.partSize)
  }

  private mutating func sendNext() throws(TransferError) -> BackendStep {
    if multipart?.complete != nil {
      guard exchanges.isEmpty else { return .idle }
      step = .complete
      return ask(try requests.complete(multipart), .finish)
    }
    guard let part = multipart?.takeNext() else { return .idle }
    return ask(try requests.part(multipart, part), .upload, part: part)
  }

  /// One exchange at a time, except for parts.
  private mutating func ask(
    _ request: HTTPRequest,
    _ phase: TransferError.Phase,
    part: Int? = nil,
    tellsFailure: Bool = false,
    outlivesStop: Bool = false
  ) -> BackendStep {
    if part == nil, !exchanges.isEmpty { return .idle }
    nextID += 1
    exchanges[nextID] = .some(part)
    return .http(
      HTTPExchange(
        id: nextID,
        request,
        phase: phase,
        tellsFailure: tellsFailure,
        outlivesStop: outlivesStop
      )
    )
  }

  private mutating func take(
    _ response: HTTPResponse,
    ofPart part: Int
  ) throws(TransferError) {
    if let fault = S3Fault(response) {
      guard step == .send else { return }
      if fault.isNoSuchUpload { return step = .settle(.isLost) }
      throw remote.error(fault, "send part \(part + 1) of \(destination.path) to")
    }
    // What the server took counts, although another part has failed meanwhile.
    guard let etag = response.header("etag"), etag.isVisible else {
      guard step == .send else { return }
      throw unclear("took a part without giving it a usable ETag")
    }
    let crc32c = response.header(S3Remote.crc32cHeader).flatMap { $0.isVisible ? $0 : nil }
    let isWanted = multipart?.hasCRC32C == true
    multipart?.finish(part, UploadedPart(etag: etag, crc32c: isWanted ? crc32c : nil))
  }

  private mutating func take(_ response: HTTPResponse) throws(TransferError) {
    let fault = S3Fault(response, result: step == .complete)
    switch step {
    case .identify:
      remote.learnProvider(from: response)
      try chooseWay()
    case .put:
      if let fault {
        let error = remote.error(fault, "put \(destination.path) into")
        guard fault.status == 412 || fault.status == 409, isConditional else { throw error }
        return step = .settle(.isRefused(error))
      }
      step = .verify(stored(etag: response.header("etag") ?? "", response, isWhole: true))
    case .create:
      if let fault { throw remote.error(fault, "begin \(destination.path) in") }
      guard let content, let id = S3Answer.uploadID(response.body) else {
        throw unclear("began an upload without naming it")
      }
      multipart = MultipartUpload(
        uploadID: id,
        size: content.size,
        partSize: partSize,
        identity: content.identity,
        hasCRC32C: requests.hasCRC32C
      )
      isRecovered = false
      if response.wasRepeated { begun += 1 }
      step = .rememberParts
    case .findStrays:
      let known = multipart?.uploadID
      let there = fault == nil ? S3Answer.uploadIDs(of: try requests.key, response.body) : []
      takeStrays(there.filter { $0 != known })
    case .removeStrays(let ids): takeStrays(Array(ids.dropFirst()))
    case .list: try take(list: response, fault)
    case .complete: try take(completion: response, fault)
    case .abort:
      // Gone is what it should be, whoever did it.
      if let fault, !fault.isNoSuchUpload {
        throw remote.error(fault, "remove the parts of \(destination.path) from")
      }
      multipart = nil
      isRecovered = false
      try content.map { content throws(TransferError) in try begin(content) }
    case .settle(let doubt): try take(settling: response, fault, doubt)
    case .open, .rememberToPut, .rememberParts, .verifyToPut, .verify, .send, .done, .failed: break
    }
  }

  private mutating func take(
    list response: HTTPResponse,
    _ fault: S3Fault?
  ) throws(TransferError) {
    if let fault {
      if fault.isNoSuchUpload { return step = .settle(.isLost) }
      // Who may send parts need not be allowed to list them: completing tells whether they are there.
      isRecovered = false
      return step = readyToSend
    }
    guard case .list(let after) = step, let page = ListedParts(response.body) else {
      throw unclear("answers the list of parts with something else")
    }
    listed.merge(page.parts) { $1 }
    // There are no more parts than S3 numbers.
    if let next = page.next, next > after, next < 10_000 { return step = .list(after: next) }
    multipart?.agree(with: listed)
    listed = [:]
    isRecovered = false
    step = readyToSend
  }

  /// Uploads to a path of its own are all this one's; others' cannot be told from it.
  private var readyToSend: Step { destination.isOwn && begun > 1 ? .findStrays : .send }

  /// Goes on with what is left to remove; what cannot be found or removed stops nothing.
  private mutating func takeStrays(_ ids: [String]) {
    begun = 1
    step = ids.isEmpty ? .send : .removeStrays(ids)
  }

  private mutating func take(
    completion response: HTTPResponse,
    _ fault: S3Fault?
  ) throws(TransferError) {
    guard let fault else {
      guard let etag = S3Answer.completedETag(response.body) else {
        throw unclear("answers the completion with something else")
      }
      return step = .settle(.isCompleted(stored(etag: etag, response, isWhole: false)))
    }
    let error = remote.error(fault, "complete \(destination.path) in")
    if fault.isNoSuchUpload { return step = .settle(.isLost) }
    if fault.status == 412 { return step = .settle(.isRefused(error)) }
    let isBegunAnew = ["InvalidPart", "InvalidPartOrder", "ConditionalRequestConflict"]
    guard isBegunAnew.contains(fault.code), losses < Self.mostLosses else { throw error }
    losses += 1
    step = .abort
  }

  private mutating func take(
    settling response: HTTPResponse,
    _ fault: S3Fault?,
    _ doubt: Doubt
  ) throws(TransferError) {
    var there: ObjectMetadata?
    if fault == nil {
      let found = try remote.metadata(of: destination.path, response)
      if MetadataHeaders.read(response.headers).1.token == token { there = found }
    }
    if let there, there.size == content?.size {
      // An earlier process may have put it before the source changed.
      guard there.sha256 == nil || content?.sha256 == nil || there.sha256 == content?.sha256 else {
        throw TransferError(
          .fileChanged,
          "The source is another one than was stored as \(destination.path); send it again."
        )
      }
      return finish(there)
    }
    if let there {
      throw TransferError(
        .checksumMismatch,
        "\(remote.place) stored \(there.size) bytes of \(content?.size ?? 0) as "
          + "\(destination.path); send it again."
      )
    }
    switch doubt {
    case .isCompleted(let stored):
      // Who may write need not be allowed to look, and others write too.
      finish(stored)
    case .isRefused(let error): throw error
    case .isLost:
      if let fault, !fault.isNotFound { throw remote.error(fault, "find \(destination.path) in") }
      guard losses < Self.mostLosses else {
        throw unclear("lost the upload \(losses + 1) times")
      }
      losses += 1
      multipart = nil
      isRecovered = false
      try content.map { content throws(TransferError) in try begin(content) }
    }
  }

  private mutating func finish(_ metadata: ObjectMetadata) {
    multipart = nil
    step = .done(.stored(.init(metadata: metadata, url: nil)))
  }

  /// What an answer to a write says of what was written.
  private func stored(etag: String, _ response: HTTPResponse, isWhole: Bool) -> ObjectMetadata {
    let now = response.header("date").flatMap { ServerTime.parse(http: $0) } ?? 0
    let etag = etag.unquoted
    return ObjectMetadata(
      fullPath: destination.path,
      size: content?.size ?? 0,
      settable: destination.settable,
      createdMs: now,
      updatedMs: now,
      etag: etag,
      md5: isWhole ? remote.md5(of: etag, response) : nil,
      sha256: content?.sha256,
      bucket: remote.bucket
    )
  }

  private func unclear(_ what: String) -> TransferError {
    TransferError(
      .server,
      "\(remote.place) \(what); try again, and check that it is an S3 server."
    )
  }
}
