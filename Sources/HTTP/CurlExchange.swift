import CCurl
import TransferModel

/// One request on its way: what libcurl's callbacks fill and empty.
///
/// Only the thread touches it.
final class CurlExchange {
  typealias Outcome = Result<HTTPResponse, TransferError>

  let id: Int
  let request: HTTPRequest
  let traffic: HTTPTraffic
  let origin: HTTPOrigin
  /// Whether the transfer's content goes out; if not, it comes in.
  let hasSource: Bool
  unowned let loop: CurlLoop
  /// Told once, when libcurl no longer knows of it.
  var finished: (Outcome) -> Void = { _ in }

  /// There while libcurl has it.
  var handle: UnsafeMutableRawPointer?
  /// What libcurl reads header fields from.
  var fields: UnsafeMutablePointer<curl_slist>?

  var body: BodyReader
  var head = AnswerHead()
  var sink = AnswerSink()
  /// What a callback failed with, which libcurl only knows as refused.
  var failure: TransferError?
  /// How often the request was begun on a connection.
  var attempts = 0
  /// Of the connection it was begun on last.
  var ports: (local: Int32, remote: Int32) = (0, 0)
  var received: Int64 = 0
  /// The bytes that `moved` was told of.
  private var told: Int64 = 0
  /// When to go on after the traffic's pace stopped it.
  var pausedUntil: ContinuousClock.Instant?
  var watch: StallWatch

  /// - Throws: `ERR_INVALID_ARGUMENT` for a request that cannot be written as HTTP.
  init(
    id: Int,
    request: HTTPRequest,
    traffic: HTTPTraffic,
    loop: CurlLoop
  ) throws(TransferError) {
    self.id = id
    self.request = request
    self.traffic = traffic
    self.loop = loop
    origin = try HTTPOrigin(request.origin)
    try Self.requireWritable(request)
    body = BodyReader(request.body ?? [], source: traffic.source)
    hasSource = body.hasSource
    watch = StallWatch(
      now: .now,
      stallTimeout: traffic.options.stallTimeout,
      answerTimeout: request.answerTimeout
    )
  }

  /// Bytes of the body that the kernel has taken.
  var uploaded: Int64 {
    guard let handle else { return 0 }
    return Int64(ccurl_get_offset(handle, CURLINFO_SIZE_UPLOAD_T))
  }

  /// The socket it is using; nil while it has no connection.
  var socket: Int32? {
    guard attempts > 0 else { return nil }
    let found = ccurl_find_socket(loop.sockets, ports.local, ports.remote)
    return found < 0 ? nil : found
  }

  /// Whether the whole request may have reached the remote.
  var mayHaveArrived: Bool { attempts > 1 || attempts == 1 && uploaded >= body.length }

  var phase: StallWatch.Phase {
    if attempts == 0 { return .connecting }
    if uploaded < body.length { return .sending }
    return head.isComplete ? .receiving : .awaiting
  }

  /// How often to look at it: sending is told from here, since libcurl asks for more only when all
  /// of a large buffer is gone.
  var interval: Duration { hasSource ? min(watch.interval, .milliseconds(200)) : watch.interval }

  /// Waits a while before more bytes move.
  func pause(_ duration: Duration) {
    // In steps, so that a rate that was raised or lifted meanwhile acts soon.
    let until = ContinuousClock.now + min(max(duration, .milliseconds(1)), .milliseconds(200))
    pausedUntil = until
    loop.look(by: until)
  }

  /// Goes on.
  func resume(now: ContinuousClock.Instant) {
    pausedUntil = nil
    watch.resume(now: now)
  }

  /// Gives back what it borrowed, once libcurl has forgotten it.
  func release() {
    sink.end(loop.buffers)
    ccurl_slist_free(fields)
    fields = nil
  }

  /// Whether it has stood still for too long; then also says so.
  func isStalled(now: ContinuousClock.Instant) -> Bool {
    let counters = StallWatch.Counters(
      uploaded: uploaded,
      received: received + Int64(head.bytes),
      unacknowledged: socket.map { ccurl_unacknowledged($0) } ?? 0
    )
    guard watch.look(phase, counters, now: now) else { return false }
    failure = .stalled(self)
    return true
  }

  /// Tells the traffic what has moved up to now.
  func tell(sent count: Int64) {
    guard hasSource else { return }
    tell(body.sourceBytes(inFirst: count) - told)
  }

  /// Tells the traffic of bytes of an answer.
  func tell(received count: Int) {
    guard !hasSource else { return }
    tell(Int64(count))
  }

  private func tell(_ difference: Int64) {
    guard difference != 0 else { return }
    told += difference
    traffic.moved(difference)
  }

  /// The answer as far as it came.
  var response: HTTPResponse {
    HTTPResponse(
      status: head.status,
      headers: head.headers,
      body: sink.body,
      delivered: sink.delivered,
      isCut: sink.isCut,
      wasRepeated: attempts > 1
    )
  }

  /// What came of it, by libcurl's account and ours.
  func outcome(_ code: CURLcode) -> Outcome {
    do throws(TransferError) {
      // What was told as moved must be in the target, however it ended.
      try sink.flush()
    } catch {
      failure = failure ?? error
    }
    if let failure { return .failure(failure) }
    // The status of a refusal counts, even where the connection was cut within its explanation.
    let isAnswered = code == CURLE_OK || sink.isCut || !head.isSuccess
    if head.isComplete, isAnswered { return .success(response) }
    return .failure(.fromCurl(code, self))
  }

  /// A header that could smuggle another line in, and a URL that is none, are never sent.
  private static func requireWritable(_ request: HTTPRequest) throws(TransferError) {
    let isTarget = { (text: String) in allBytes(of: text) { (0x21..<0x7f).contains($0) } }
    guard request.path.hasPrefix("/"), isTarget(request.path), isTarget(request.query) else {
      throw TransferError(
        .invalidArgument,
        "The path of a request must begin with '/' and be percent-encoded."
      )
    }
    for header in request.headers {
      let isName =
        !header.name.isEmpty
        && allBytes(of: header.name) { (0x21..<0x7f).contains($0) && $0 != UInt8(ascii: ":") }
      let isValue = allBytes(of: header.value) { $0 >= 0x20 && $0 != 0x7f || $0 == 9 }
      guard isName, isValue else {
        throw TransferError(
          .invalidArgument,
          "A header field has a line break or another control character, or no name; leave it out."
        )
      }
    }
  }

  /// Like `allSatisfy`, without its cost per byte, which for long signatures is felt.
  @inline(__always)
  private static func allBytes(of text: String, are isGood: (UInt8) -> Bool) -> Bool {
    let isAll = text.utf8.withContiguousStorageIfAvailable { bytes in
      for byte in bytes where !isGood(byte) { return false }
      return true
    }
    return isAll ?? text.utf8.allSatisfy(isGood)
  }
}
