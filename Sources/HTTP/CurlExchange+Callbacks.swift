import CCurl
import TransferModel

/// libcurl's callbacks: C functions that find their exchange in the context.
///
/// After one of them has refused, libcurl 7.88 may call another before the transfer ends, so each
/// looks whether there is a failure already.
extension CurlExchange {
  private static func from(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
    context.map { Unmanaged<CurlExchange>.fromOpaque($0).takeUnretainedValue() }
  }

  /// CURLOPT_READFUNCTION: straight into libcurl's own buffer.
  static let read: ccurl_bytes_callback = { bytes, size, count, context in
    guard let exchange = from(context), let bytes else { return Int(CURL_READFUNC_ABORT) }
    return exchange.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
  }

  /// CURLOPT_SEEKFUNCTION: without it, a reused connection that died fails every upload.
  static let seek: curl_seek_callback = { context, offset, origin in
    guard let exchange = from(context), origin == 0 else { return CURL_SEEKFUNC_FAIL }
    exchange.body.seek(to: Int64(offset))
    exchange.tell(sent: Int64(offset))
    return CURL_SEEKFUNC_OK
  }

  /// CURLOPT_PREREQFUNCTION: there is a connection, and the request goes out now.
  static let begin: curl_prereq_callback = { context, _, _, remotePort, localPort in
    guard let exchange = from(context) else { return CURL_PREREQFUNC_ABORT }
    exchange.ports = (localPort, remotePort)
    exchange.attempts += 1
    exchange.loop.reached(exchange)
    guard exchange.attempts > 1, !exchange.request.isRepeatable else { return CURL_PREREQFUNC_OK }
    exchange.failure = .deadConnection(exchange)
    return CURL_PREREQFUNC_ABORT
  }

  /// CURLOPT_HEADERFUNCTION: one line at a time.
  static let header: ccurl_bytes_callback = { bytes, size, count, context in
    guard let exchange = from(context), exchange.failure == nil else { return 0 }
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return exchange.takeHeader(line) ? line.count : 0
  }

  /// CURLOPT_WRITEFUNCTION: at most 16 KiB at a time.
  static let write: ccurl_bytes_callback = { bytes, size, count, context in
    guard let exchange = from(context) else { return 0 }
    return exchange.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
  }

  private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard failure == nil else { return Int(CURL_READFUNC_ABORT) }
    // It asks only when all before is sent.
    tell(sent: body.offset)
    let left = min(Int64(buffer.count), body.length - body.offset)
    guard left > 0 else { return 0 }
    let count = max(1, min(Int(left), traffic.slice(Int(left))))
    guard isAdmitted(count) else { return Int(CURL_READFUNC_PAUSE) }
    do throws(TransferError) {
      return try body.read(into: .init(rebasing: buffer[..<count]))
    } catch {
      failure = error
      return Int(CURL_READFUNC_ABORT)
    }
  }

  private func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    let wasComplete = head.isComplete
    guard head.take(line) else {
      failure = TransferError(
        .server,
        "\(origin.shown) answers with more than \(AnswerHead.limit >> 10) KiB of header fields;"
          + " check that this is the server it should be."
      )
      return false
    }
    guard head.isComplete, !wasComplete else { return true }
    do throws(TransferError) {
      try sink.begin(head, of: request, target: traffic.target, buffers: loop.buffers)
      return true
    } catch {
      failure = error
      return false
    }
  }

  private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard failure == nil else { return 0 }
    if head.isSuccess, !isAdmitted(bytes.count) { return Int(CURL_WRITEFUNC_PAUSE) }
    do throws(TransferError) {
      guard case .all = try sink.take(bytes) else { return 0 }
    } catch {
      failure = error
      return 0
    }
    received += Int64(bytes.count)
    if head.isSuccess { tell(received: bytes.count) }
    return bytes.count
  }

  /// Whether so many bytes may move now; if not, the loop lets it go on later.
  private func isAdmitted(_ count: Int) -> Bool {
    let pause = traffic.admit(count)
    guard pause > .zero else { return true }
    self.pause(pause)
    return false
  }
}
