import CCurl
import Glibc
import TransferModel

/// libcurl's multi handle and every request it has: begun, looked after and ended here.
///
/// Only the thread touches it, between callbacks.
final class CurlLoop {
  let multi: UnsafeMutableRawPointer
  let share: UnsafeMutableRawPointer
  let userAgent: String
  let trust = TrustStore()
  let sockets: UnsafeMutablePointer<ccurl_sockets>
  let buffers = SinkBuffers()
  private(set) var statistics: HTTPStatistics

  private let limits: HTTPLimits
  private let opensBefore: Int
  private var exchanges: [Int: CurlExchange] = [:]
  private var lanes: Lanes
  private var contacts = FirstContacts()
  /// Requests that waited for another to reach the same remote, and need not any more.
  private var ready: [Int] = []
  private var handles: [UnsafeMutableRawPointer] = []
  /// No exchange needs to be looked at before.
  private var nextLook: ContinuousClock.Instant
  private var lastUse: ContinuousClock.Instant
  /// Whether sockets that are closed were forgotten since the last request.
  private var isTidy = true

  /// How long after the last request they are: between two of many, looking at all is dear.
  private static let tidiness = Duration.milliseconds(100)

  init(userAgent: String, limits: HTTPLimits, before: HTTPStatistics) {
    guard let multi = ccurl_multi_init(), let share = ccurl_share_sessions() else {
      preconditionFailure("libcurl finds no memory")
    }
    self.multi = multi
    self.share = share
    self.userAgent = userAgent
    self.limits = limits
    lanes = Lanes(limits)
    statistics = before
    opensBefore = before.connectionsOpened
    sockets = .allocate(capacity: 1)
    sockets.initialize(to: ccurl_sockets())
    nextLook = .now
    lastUse = .now
    // Idle ones beyond are closed, the oldest first; by itself it keeps four for each request.
    let connections = limits.bulk + limits.calls + 4
    _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connections)
    // HTTP/1.1 has nothing to multiplex.
    _ = ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, 0)
  }

  /// Ends all connections.
  func close() {
    for handle in handles { ccurl_easy_cleanup(handle) }
    handles = []
    ccurl_multi_cleanup(multi)
    ccurl_share_cleanup(share)
    free(sockets.pointee.open)
    sockets.deallocate()
  }

  /// Whether nothing is under way.
  var isIdle: Bool { exchanges.isEmpty }

  /// Whether nothing was asked for so long that connections are better closed.
  var isIdleForLong: Bool { isIdle && .now - lastUse >= limits.idle }

  /// Takes a request in; it begins when its lane has room.
  func submit(_ exchange: CurlExchange) {
    exchanges[exchange.id] = exchange
    lanes.enter(exchange.id, exchange.request.lane)
    beginNext()
  }

  /// Ends a request early, if it has not ended.
  func cancel(_ id: Int) {
    guard let exchange = exchanges[id] else { return }
    end(exchange, .cancelledRequest)
    beginNext()
  }

  /// Ends all requests.
  func failAll(_ error: TransferError) {
    for exchange in Array(exchanges.values) { end(exchange, error) }
  }

  /// Has libcurl move what can be moved, and ends what has come to its end.
  func turn() {
    guard !exchanges.isEmpty else {
      if !isTidy, .now - lastUse >= Self.tidiness {
        ccurl_prune_sockets(sockets)
        isTidy = true
      }
      return count()
    }
    isTidy = false
    lastUse = .now
    _ = ccurl_multi_perform(multi)
    var code = CURLE_OK
    while let handle = ccurl_multi_next_done(multi, &code) {
      guard let context = ccurl_get_pointer(handle, CURLINFO_PRIVATE) else { continue }
      finish(Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue(), code)
    }
    look(now: lastUse)
    beginNext()
    count()
  }

  /// Waits for the network, a time limit or `ccurl_multi_wakeup`.
  func wait() {
    let idle = isTidy ? limits.idle : min(limits.idle, Self.tidiness)
    let until = exchanges.isEmpty ? lastUse + idle : nextLook
    let milliseconds = ((until - .now) / .milliseconds(1)).rounded(.up)
    _ = ccurl_multi_poll(multi, Int32(max(0, min(60_000, milliseconds))))
  }

  /// Has exchanges looked at no later than that.
  func look(by instant: ContinuousClock.Instant) { nextLook = min(nextLook, instant) }

  /// An exchange has its connection; called from within libcurl, where nothing can begin.
  func reached(_ exchange: CurlExchange) {
    ready += contacts.reached(exchange.id, exchange.origin, now: lastUse)
  }

  private func beginNext() {
    while let id = ready.popLast() {
      if let exchange = exchanges[id] { begin(exchange) }
    }
    while let id = lanes.next() {
      guard let exchange = exchanges[id] else { continue }
      if contacts.mayBegin(id, exchange.origin, now: lastUse) { begin(exchange) }
    }
  }

  private func begin(_ exchange: CurlExchange) {
    guard let handle = handles.popLast() ?? ccurl_easy_init() else {
      return end(exchange, TransferError(.unknown, "libcurl finds no memory for a request."))
    }
    exchange.handle = handle
    do throws(TransferError) {
      try exchange.prepare(handle)
    } catch {
      return end(exchange, error)
    }
    statistics.requests += 1
    guard ccurl_multi_add_handle(multi, handle) == CURLM_OK else {
      return end(exchange, TransferError(.unknown, "libcurl takes no more requests."))
    }
    look(by: .now + exchange.interval)
  }

  /// Resumes what was paused long enough, and ends what stands still.
  private func look(now: ContinuousClock.Instant) {
    guard now >= nextLook else { return }
    nextLook = now + .seconds(60)
    for exchange in Array(exchanges.values) {
      guard let handle = exchange.handle else { continue }
      if let until = exchange.pausedUntil {
        guard until <= now else {
          look(by: until)
          continue
        }
        exchange.resume(now: now)
        _ = ccurl_easy_resume(handle)
      }
      exchange.tell(sent: exchange.uploaded)
      if exchange.isStalled(now: now) {
        finish(exchange, CURLE_OPERATION_TIMEDOUT)
      } else {
        look(by: now + exchange.interval)
      }
    }
  }

  private func end(_ exchange: CurlExchange, _ error: TransferError) {
    exchange.failure = error
    finish(exchange, CURLE_ABORTED_BY_CALLBACK)
  }

  private func finish(_ exchange: CurlExchange, _ code: CURLcode) {
    exchanges[exchange.id] = nil
    lanes.leave(exchange.id, exchange.request.lane)
    ready += contacts.ended(exchange.id, exchange.origin)
    let sent = exchange.uploaded
    exchange.tell(sent: sent)
    statistics.bytesSent += sent
    statistics.bytesReceived += exchange.received
    statistics.repeated += max(0, exchange.attempts - 1)
    let outcome = exchange.outcome(code)
    if let handle = exchange.handle {
      // A body that ends early, or that nobody waits for any more: its connection will be closed.
      let isUseless = sent < exchange.body.length || exchange.failure != nil
      if isUseless, exchange.body.length > 0, let socket = exchange.socket {
        ccurl_drop_unsent(socket)
      }
      exchange.handle = nil
      _ = ccurl_multi_remove_handle(multi, handle)
      // Forgets the exchange, keeps its memory for the next.
      ccurl_easy_reset(handle)
      if handles.count < limits.bulk + limits.calls {
        handles.append(handle)
      } else {
        ccurl_easy_cleanup(handle)
      }
    }
    if exchange.attempts == 0 { ccurl_prune_sockets(sockets) }
    exchange.release()
    exchange.finished(outcome)
  }

  private func count() {
    statistics.connectionsOpened = opensBefore + sockets.pointee.opened
    statistics.connectionsOpen = Int(sockets.pointee.count)
    statistics.bulk = lanes.bulkInUse
    statistics.calls = lanes.callsInUse
    statistics.polls = lanes.pollsInUse
    statistics.waiting = lanes.waiting
  }
}
