internal import Glibc
internal import JSON
internal import Synchronization

/// One host: reads its requests, keeps those that wait for a reply, sends replies.
package final class Connection: Sendable {
  /// What a host may do before it is refused.
  package struct Limits: Sendable {
    /// The longest message, in bytes.
    package var maxLineBytes = 16 << 20
    /// The most requests that may wait for their reply.
    package var maxInFlight = 65_536
    /// The most members one batch array may have.
    package var maxBatchMembers = 100

    /// The limits that are usual.
    package init() {}
  }

  /// Why reading ended.
  package enum EndOfInput: Sendable, Equatable {
    /// The host closed the input; a read error counts as that.
    case closed
    /// The host sent `exit`.
    case exit
    /// Messages could not be told apart any more; the reason is for stderr.
    case broken(String)
  }

  /// Where replies go.
  package let outbox: Outbox

  private let input: Int32
  private let framing: InputFraming
  private let limits: Limits
  private let trace: Trace?
  private let log: @Sendable (String) -> Void
  private let inFlight = Monitor(InFlight())
  private let wake = Mutex<(@Sendable (String) -> Void)?>(nil)
  private let lastInput = Mutex(ContinuousClock.now)
  private let overloaded = Atomic<Int64>(0)
  private let hasToldOfWait = Atomic(false)

  /// Requests that wait for their reply.
  private struct InFlight {
    var calls: [RequestID: WeakCall] = [:]
    /// Those without a call, thousands perhaps: a table of their own with small entries.
    var parked: [RequestID: ParkedCall] = [:]

    var count: Int { calls.count + parked.count }

    func contains(_ id: RequestID) -> Bool { calls[id] != nil || parked[id] != nil }
  }

  private struct WeakCall {
    weak var call: Call?
  }

  private struct ParkedCall {
    let owner: String
    let batch: BatchReply?
  }

  /// Makes a connection that reads nothing yet.
  /// - Parameters:
  ///   - input: an open descriptor in blocking mode.
  ///   - outbox: where replies go.
  ///   - framing: how messages are told apart.
  ///   - limits: what is refused.
  ///   - trace: gets a copy of every message.
  ///   - log: gets the rare line that is worth telling on stderr.
  package init(
    input: Int32,
    outbox: Outbox,
    framing: InputFraming = .auto,
    limits: Limits = Limits(),
    trace: Trace? = nil,
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.input = input
    self.outbox = outbox
    self.framing = framing
    self.limits = limits
    self.trace = trace
    self.log = log
  }

  /// The number of requests that wait for their reply.
  package var inFlightCount: Int { inFlight.withLock { $0.count } }

  /// How many requests were refused since too many were in flight.
  package var overloadedCount: Int64 { overloaded.load(ordering: .relaxed) }

  /// How long ago the host last sent anything; since the start when it never did.
  package var timeSinceInput: Duration { .now - lastInput.withLock { $0 } }

  /// Cancels every request that waits, as `$/cancelRequest` does.
  package func cancelAll() {
    for call in inFlight.withLock({ $0.calls.values.compactMap(\.call) }) { call.cancel() }
  }

  /// Blocks until every request has its reply in the outbox.
  /// - Returns: whether they have; false when the deadline passed.
  package func waitUntilAnswered(until deadline: ContinuousClock.Instant) -> Bool {
    inFlight.wait { calls in
      if calls.count == 0 { return .done(true) }
      return .now >= deadline ? .done(false) : .again(until: deadline)
    }
  }
}

// MARK: - Parking

extension Connection {
  /// Lets a call go without an answer: until ``revive(_:_:)`` only its id is kept.
  ///
  /// The handler of ``onCancelOfParked(_:)`` is told `owner`.
  /// - Returns: the ticket to revive it by; nil where it is answered or cancelled already.
  package func park(_ call: Call, owner: String) -> String? {
    inFlight.withLock { inFlight in
      guard call.letGo() else { return nil }
      inFlight.calls[call.id] = nil
      inFlight.parked[call.id] = ParkedCall(owner: owner, batch: call.batch)
      return call.id.text
    }
  }

  /// Makes the call again that was parked; `prepare` has it before it can be cancelled.
  package func revive(_ ticket: String, _ prepare: (Call) -> Void) {
    let id = RequestID(verbatim: ticket)
    inFlight.withLock { inFlight in
      guard let parked = inFlight.parked.removeValue(forKey: id) else { return }
      let call = Call(id, connection: self, batch: parked.batch)
      prepare(call)
      inFlight.calls[id] = WeakCall(call: call)
    }
  }

  /// Says who revives a parked call that the host cancels, given its owner.
  ///
  /// Called on the reader's thread; the call is cancelled when it returns.
  package func onCancelOfParked(_ handler: @escaping @Sendable (_ owner: String) -> Void) {
    wake.withLock { $0 = handler }
  }
}

// MARK: - Reading

extension Connection {
  /// Reads and serves until the input ends; blocks the calling thread.
  package func run(_ router: Router) -> EndOfInput {
    var framer = InputFramer(framing, maxBytes: limits.maxLineBytes)
    var end: EndOfInput?
    let take = { (framed: FramedInput) -> Bool in
      end = self.take(framed, router)
      return end == nil
    }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while end == nil {
      let count = read(input, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      lastInput.withLock { $0 = .now }
      outbox.holding { framer.feed(buffer[..<count], take) }
    }
    if end == nil { framer.finish(take) }
    return end ?? .closed
  }

  private func take(_ framed: FramedInput, _ router: Router) -> EndOfInput? {
    outbox.waitForRoom {
      guard !hasToldOfWait.exchange(true, ordering: .relaxed) else { return }
      log("the host does not read stdout; no more requests are read until it does")
    }
    switch framed {
    case .usesHeaders: outbox.use(.headers)
    case .tooLong:
      trace?.note(.input, "<a message over \(limits.maxLineBytes) bytes>")
      refuse(.lineTooLong(limit: limits.maxLineBytes), nil, in: nil)
    case .broken(let reason):
      trace?.note(.input, "<broken headers>")
      refuse(.parseError("\(reason); the connection ends"), nil, in: nil)
      return .broken(reason)
    case .message(let bytes):
      trace?.record(.input, bytes)
      return serve(bytes, router)
    }
    return nil
  }

  private func serve(_ bytes: [UInt8], _ router: Router) -> EndOfInput? {
    let node: JSONNode
    do throws(JSONError) {
      node = try JSONNode(parsing: bytes)
    } catch {
      refuse(.parseError(error.message), nil, in: nil)
      return nil
    }
    guard node.kind == .array else { return serve(node, router, in: nil) }
    var count = 0
    node.forEachElement { _ in
      count += 1
      return count <= limits.maxBatchMembers
    }
    guard count > 0, count <= limits.maxBatchMembers else {
      let reason =
        count == 0
        ? "the batch is empty" : "a batch may have at most \(limits.maxBatchMembers) members"
      refuse(.invalidRequest(reason), nil, in: nil)
      return nil
    }
    let batch = BatchReply()
    var end: EndOfInput?
    node.forEachElement { member in
      end = serve(member, router, in: batch)
      return end == nil
    }
    send(batch.end())
    return end
  }

  private func serve(_ node: JSONNode, _ router: Router, in batch: BatchReply?) -> EndOfInput? {
    switch Envelope(node) {
    case .request(let id, let method, let params):
      batch?.expect()
      if let call = admit(id, in: batch, always: router.isAlwaysServed(method)) {
        router.handle(method, params, call)
      }
    case .notification("exit", _): return .exit
    case .notification("$/cancelRequest", let params),
      .notification("$/cancel_request", let params):
      cancel(params)
    // Others mean nothing to this server.
    case .notification, .response: break
    case .invalid(let error, let id):
      batch?.expect()
      // An id that is in flight belongs to that request's own reply.
      let isFree = id.map { id in inFlight.withLock { !$0.contains(id) } } ?? false
      refuse(error, isFree ? id : nil, in: batch)
    }
    return nil
  }

  /// Enters a request among those in flight.
  /// - Returns: nil after it was refused.
  private func admit(_ id: RequestID, in batch: BatchReply?, always: Bool) -> Call? {
    enum Admission {
      case taken(Call), duplicate, overloaded
    }
    let admission = inFlight.withLock { inFlight -> Admission in
      if inFlight.contains(id) { return .duplicate }
      if inFlight.count >= limits.maxInFlight, !always { return .overloaded }
      let call = Call(id, connection: self, batch: batch)
      inFlight.calls[id] = WeakCall(call: call)
      return .taken(call)
    }
    switch admission {
    case .taken(let call): return call
    case .duplicate:
      refuse(.invalidRequest("the id \(id.text) is in flight already"), nil, in: batch)
    case .overloaded:
      overloaded.add(1, ordering: .relaxed)
      refuse(.overloaded, id, in: batch)
    }
    return nil
  }

  private func cancel(_ params: JSONNode?) {
    var id: RequestID?
    params?.forEachMember { key, value in
      if key.isString("id") { id = RequestID(value) }
      return true
    }
    // Late, unknown and repeated ones are no errors: they crossed the reply.
    guard let id else { return }
    call(id)?.cancel()
    // It may have been parked between the two, too.
    guard let owner = inFlight.withLock({ $0.parked[id]?.owner }) else { return }
    wake.withLock { $0 }?(owner)
    call(id)?.cancel()
  }

  private func call(_ id: RequestID) -> Call? {
    inFlight.withLock { $0.calls[id]?.call }
  }
}

// MARK: - Replies

extension Connection {
  /// Sends the reply to a request, alone or with its batch; then its id is free again.
  func send(_ reply: [UInt8], to id: RequestID, in batch: BatchReply?) {
    if let batch {
      send(batch.add(reply, to: id))
    } else {
      outbox.reply(reply) { inFlight.change { $0.calls[id] = nil } }
    }
  }

  private func send(_ array: BatchReply.Array?) {
    guard let array else { return }
    outbox.reply(array.bytes) {
      inFlight.change { inFlight in
        for id in array.ids { inFlight.calls[id] = nil }
      }
    }
  }

  /// Answers what never came to be a call.
  private func refuse(_ error: RPCError, _ id: RequestID?, in batch: BatchReply?) {
    let bytes = reply(to: id) { writer in
      writer.key("error")
      error.write(to: &writer)
    }
    if let batch {
      send(batch.add(bytes, to: nil))
    } else {
      outbox.reply(bytes) {}
    }
  }
}
