internal import Backends
internal import Configuration
internal import Crypto
internal import Glibc
internal import LocalFiles
internal import LocalStore
internal import TransferModel

/// One transfer being carried out: asks its backend for the next step, performs it, hands back
/// what came of it.
///
/// It runs on the blocking pool and stops between two slices when its task is cancelled, keeping
/// everything, so that running again goes on from there.
actor TransferRun {
  let spec: TransferSpec
  let slot: ProgressSlot
  let pipe: StreamPipe?
  let remotes: Remotes
  let environment: RunEnvironment
  let traffic: RemoteTraffic?
  var backend: any Backend

  private let startConfirming: @Sendable () -> Void
  private let remember: @Sendable (RunState, _ awaited: Bool) async -> Void
  /// What an earlier process had in hand, until it is taken up.
  var kept: RunState?
  /// What this one has.
  var inHand: RunState

  // What an upload has in hand.
  var source: SourceFile?
  /// All of a small source, read once to be hashed, checked and sent.
  var heldSource: [UInt8]?
  /// Of all that is sent, where it was read before.
  var wholeSum: ExchangeBytes.Sum?
  var staging: Staging?
  /// A piece of a stream that is taken and not yet paid for.
  var pending: [UInt8]?
  // What a download has in hand.
  var content: StoredContent?
  /// What the remote calls it.
  var remoteName = ""
  var range: Range<Int64> = 0..<0
  var part: PartFile?
  var collected: [UInt8] = []
  // Both: bytes moved so far, and their digests.
  var offset: Int64 = 0
  var hasher: ContentHasher?
  // What transfers over HTTP have beside that.
  let meter: TransferMeter
  var incoming: IncomingContent?
  /// Hashes a file while it is sent, or while it comes.
  var following: FrontierDigest?
  /// Decrypts what comes.
  var decryptor: Decryptor?
  /// Whether the part is one that an earlier process left.
  var isTakenUp = false
  /// Whether it is stopped with its files open.
  private var isHoldingPause = false
  /// Whether an earlier process had moved bytes, so that nothing is refused before the first any more.
  private let wasBegun: Bool

  /// The most bytes moved between two looks at a cancel or a pause: some milliseconds' worth.
  static let sliceBytes = 4 << 20

  /// How a run came to its end.
  enum End: Sendable {
    case succeeded(TransferResult)
    /// Where it could not even begin, another run may with what this one was given.
    case failed(TransferError, RunState?)
    /// Its task was cancelled. It can go on, or where it had to close its files, another run can
    /// with what this one had in hand.
    case stopped(RunState?)
  }

  /// Begins, or goes on from what an earlier process had in hand (`kept`); `confirming` is called
  /// when all bytes are moved and only the remote's word is awaited; `remember` keeps what
  /// this one has, and returns when it is kept where that is awaited.
  init(
    spec: TransferSpec,
    slot: ProgressSlot,
    pipe: StreamPipe?,
    remotes: Remotes,
    environment: RunEnvironment,
    kept: RunState?,
    confirming: @escaping @Sendable () -> Void,
    remember: @escaping @Sendable (RunState, _ awaited: Bool) async -> Void
  ) {
    self.spec = spec
    self.slot = slot
    self.pipe = pipe
    self.remotes = remotes
    self.environment = environment
    self.kept = kept
    startConfirming = confirming
    self.remember = remember
    inHand = RunState(root: spec.root)
    meter = TransferMeter(slot: slot)
    traffic = remotes.traffic(of: spec.remote)
    do throws(TransferError) {
      backend = try remotes.backend(for: spec)
      wasBegun = kept?.isBegun ?? false
    } catch {
      backend = RefusedTransfer(error)
      // It was taken then.
      wasBegun = kept != nil
    }
    if let kept { backend.recover(kept.checkpoint) }
  }

  deinit {
    if isHoldingPause { environment.openPauses.giveBack() }
  }

  /// Goes on until the end, a failure or a stop.
  ///
  /// After a failure nothing half-made is left, here or, where trying again cannot help, there.
  func run() async -> End {
    endPause()
    if spec.direction == .upload { await remotes.learnLimits(of: spec.remote) }
    do throws(TransferError) {
      var result = try await converse()
      if result.lacksDigest, let sha256 = try await outgoingDigest() { result.add(sha256: sha256) }
      drop()
      return .succeeded(result)
    } catch {
      if backend.checkpoint != inHand.checkpoint { await keepCheckpoint() }
      if error.code == .cancelled, Task.isCancelled {
        if spec.isStream || environment.openPauses.take() {
          isHoldingPause = !spec.isStream
          return .stopped(nil)
        }
        suspend()
        return .stopped(handover)
      }
      let error = sourceChange(behind: error) ?? error
      drop()
      if !error.isRetryable, !error.rejects { await cleanUp() }
      return .failed(explained(error), backend is RefusedTransfer ? kept : nil)
    }
  }

  /// Why a remote received other bytes than were announced: the source changed under way.
  private func sourceChange(behind error: TransferError) -> TransferError? {
    guard error.code == .checksumMismatch, spec.direction == .upload else { return nil }
    do throws(TransferError) {
      try source?.verifyUnchanged()
      return nil
    } catch {
      return error.during(.upload)
    }
  }

  private func endPause() {
    if isHoldingPause { environment.openPauses.giveBack() }
    isHoldingPause = false
  }

  /// Performs the backend's steps until it is done; no exchange outlives this.
  private func converse() async throws(TransferError) -> TransferResult {
    try await withTaskGroup(of: Answer.self) { group in
      let end = await Result(of: { () async throws(TransferError) in
        try await converse(in: &group)
      })
      group.cancelAll()
      for await answer in group { _ = take(answer) }
      return end
    }
    .get()
  }

  private func converse(
    in group: inout TaskGroup<Answer>
  ) async throws(TransferError) -> TransferResult {
    var underWay = 0
    while true {
      switch backend.next() {
      case .done(let result):
        return result
      case .fail(let error):
        throw placed(error)
      case .http(let exchange):
        let perform = try begin(exchange)
        if backend.width == 1, underWay == 0 {
          // Nothing runs beside it: no task of its own, and two changes of threads less.
          if let error = take(await perform()) { throw error }
          if backend.checkpoint != inHand.checkpoint { await keepCheckpoint(awaited: false) }
          try stopIfAsked()
          continue
        }
        // What its connection sent before is written down by then: after a kill each sends no more than
        // one part again.
        group.addTask {
          await self.keepCheckpoint()
          return await perform()
        }
        underWay += 1
        if underWay < backend.width { continue }
        fallthrough
      case .idle:
        guard let answer = await group.next() else {
          preconditionFailure("idle without an exchange under way")
        }
        underWay -= 1
        if let error = take(answer) { throw error }
        try stopIfAsked()
      case .content(let operation):
        try stopIfAsked()
        do throws(TransferError) {
          backend.receive(try await perform(operation))
        } catch {
          throw placed(error.during(operation.phase))
        }
      case .local(let operation):
        try stopIfAsked()
        do throws(TransferError) {
          backend.receive(try await perform(operation))
        } catch {
          throw placed(error.during(operation.phase))
        }
      }
    }
  }

  /// Makes an exchange ready; the backend hears of one that does not come about, or it would wait for
  /// that one when it is gone on with.
  private func begin(
    _ exchange: HTTPExchange
  ) throws(TransferError) -> @Sendable () async -> Answer {
    do throws(TransferError) {
      try stopIfAsked()
      return try answer(to: exchange)
    } catch {
      backend.receive(.interrupted(id: exchange.id))
      throw error
    }
  }

  /// Begins again: what was in hand goes, what the remote has confirmed stays.
  func restart() {
    drop()
    meter.reset()
    backend.restart()
  }

  /// All bytes are moved.
  func bytesMoved() { startConfirming() }

  /// Keeps what is in hand for a later process.
  func remember(awaited: Bool) async { await remember(handover, awaited) }

  /// What is in hand, with the files of an earlier process that were not yet taken up.
  private var handover: RunState {
    guard var handover = kept, handover.hasFiles else { return inHand }
    handover.checkpoint = backend.checkpoint
    return handover
  }

  /// Throws where the task was cancelled.
  func stopIfAsked() throws(TransferError) {
    if Task.isCancelled { throw TransferError(.cancelled, "The transfer was cancelled.") }
  }

  /// The bytes to move next, once the caps on bytes per second allow them.
  func slice(of rest: Int64) async throws(TransferError) -> Int {
    try stopIfAsked()
    let bytes = Int(min(rest, Int64(sliceLimit)))
    try await pay(for: bytes)
    return bytes
  }

  /// The most bytes to move at once.
  var sliceLimit: Int {
    rates.reduce(Self.sliceBytes) { limit, limiter in limiter.slice(limit: limit) }
  }

  /// Waits until the caps on bytes per second allow a number of bytes.
  func pay(for bytes: Int) async throws(TransferError) {
    do {
      for limiter in rates { try await limiter.take(bytes) }
    } catch {
      throw TransferError(.cancelled, "The transfer was cancelled.")
    }
  }

  /// The caps that hold for this transfer.
  var rates: [RateLimiter] {
    let own = remotes.rates(of: spec.remote)
    return switch spec.direction {
    case .upload: [environment.uploadRate, own?.upload].compactMap { $0 }
    case .download: [environment.downloadRate, own?.download].compactMap { $0 }
    }
  }

  /// The digests of what an earlier process wrote, since digests in the making are not kept.
  func hash(
    of descriptor: Int32,
    upTo size: Int64,
    md5: Bool = false,
    crc32c: Bool = false,
    isNeeded: Bool = false
  ) async throws(TransferError) -> ContentHasher? {
    guard spec.computesDigest || isNeeded else { return nil }
    let hasher = ContentHasher(md5: md5, crc32c: crc32c)
    var hashed: Int64 = 0
    while hashed < size {
      try stopIfAsked()
      let end = min(size, hashed + Int64(Self.sliceBytes))
      if let error = hasher.update(from: descriptor, in: hashed..<end) { throw error }
      hashed = end
      await Task.yield()
    }
    return hasher
  }

  /// A number of bytes more were moved.
  func advance(by bytes: Int) {
    offset += Int64(bytes)
    slot.set(loaded: offset)
    traffic?.count(bytes, spec.direction)
  }

  /// An error of the conversation: one that is told before this run's first byte may not be the
  /// transfer's.
  func placed(_ error: TransferError) -> TransferError {
    guard wasBegun, error.phase == .prepare else { return error }
    var error = error
    error.phase = spec.direction == .upload ? .upload : .download
    return error
  }

  /// The error as hosts see it: placed in a phase, and for `file/send` with what is stored.
  private func explained(_ error: TransferError) -> TransferError {
    var error = error.explained(by: remotes.limitsFailure(of: spec.remote))
    guard spec.announces else { return error }
    guard let file = backend.unannounced else {
      // What a remote that cannot be opened has nobody knows.
      error.fileUploaded = backend is RefusedTransfer && wasBegun ? nil : false
      return error
    }
    var failure = TransferError(
      .publishFailed,
      "\"\(file.name)\" is stored but was not announced: \(error.message) Announce it with "
        + "transfer/retry\(remotes.publishesFiles(spec.remote) ? " or file/publish" : "").",
      phase: .publish
    )
    failure.cause = .init(code: error.code, httpStatus: error.httpStatus)
    failure.serverCode = error.serverCode
    failure.serverMessage = error.serverMessage
    failure.retryAfterMs = error.retryAfterMs
    failure.fileUploaded = true
    failure.fileID = file.id
    failure.fileName = file.name
    return failure
  }
}

extension ContentOperation {
  /// As for ``LocalOperation``.
  fileprivate var phase: TransferError.Phase {
    switch self {
    case .openSource, .encryptSource, .openTarget: .prepare
    case .write, .finishTarget: .download
    case .verifySource, .remember: .upload
    }
  }
}

extension TransferResult {
  /// Whether an upload's digest is not known to the remote.
  fileprivate var lacksDigest: Bool {
    switch self {
    case .stored(let stored): stored.metadata.sha256 == nil
    case .shared(let shared): shared.file.sha256 == nil
    case .downloaded: false
    }
  }

  /// Adds the digest of what was sent, which only the sender knows.
  fileprivate mutating func add(sha256: String) {
    switch self {
    case .stored(var stored):
      stored.metadata.sha256 = sha256
      self = .stored(stored)
    case .shared(var shared):
      shared.file.sha256 = sha256
      self = .shared(shared)
    case .downloaded:
      break
    }
  }
}
