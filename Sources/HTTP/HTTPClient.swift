package import TransferModel

/// Sends HTTP/1.1 requests over libcurl's multi interface, on one thread that is this actor's.
///
/// Everything of libcurl and every callback runs on that thread, which starts with the first
/// request, ends after half a minute without one, and starts again. One client serves a process:
/// its connections, TLS sessions and limits are shared by all remotes.
package actor HTTPClient {
  private nonisolated let thread: CurlThread
  private var lastID = 0

  /// A client that has done nothing yet.
  /// - Parameters:
  ///   - userAgent: what the program calls itself: `ferry/1.2`.
  ///   - limits: how much happens at once.
  package init(userAgent: String, limits: HTTPLimits = HTTPLimits()) {
    thread = CurlThread(userAgent: userAgent, limits: limits)
  }

  deinit { thread.close() }

  /// The thread that libcurl has.
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    thread.asUnownedSerialExecutor()
  }

  /// What was done and is held now, at most one turn of the thread old.
  package nonisolated var statistics: HTTPStatistics { thread.statistics }

  /// Asks, and waits for the whole answer; an answer of any status is a success here.
  ///
  /// Cancelling the task ends the request within milliseconds. When this returns, libcurl no
  /// longer knows of the request, so that its descriptors may be closed. Redirects are not
  /// followed and nothing is retried, except that libcurl itself sends a request again whose reused
  /// connection turned out dead; one that is not `isRepeatable` fails instead.
  /// - Throws: `ERR_NETWORK` and `ERR_UPLOAD_STALLED`, `ERR_DOWNLOAD_STALLED` for what the network
  ///   did, `ERR_SERVER` for an answer that makes no sense, `ERR_CONFIG` where libcurl or `caFile`
  ///   cannot be used, `ERR_FILE_CHANGED` and other file codes for source and target,
  ///   `ERR_INVALID_ARGUMENT` for a request that cannot be written, `ERR_CANCELLED`,
  ///   `ERR_SHUTTING_DOWN`.
  package nonisolated func send(
    _ request: HTTPRequest,
    with traffic: HTTPTraffic = HTTPTraffic()
  ) async throws(TransferError) -> HTTPResponse {
    try thread.enter()
    defer { thread.leave() }
    return try await perform(request, traffic)
  }

  /// Refuses what is to come, fails what is under way with `ERR_SHUTTING_DOWN`, and returns when
  /// the thread and its connections are gone.
  package nonisolated func close() async {
    await withCheckedContinuation { continuation in
      thread.close { continuation.resume() }
    }
  }

  private func perform(
    _ request: HTTPRequest,
    _ traffic: HTTPTraffic
  ) async throws(TransferError) -> HTTPResponse {
    if Task.isCancelled { throw .cancelledRequest }
    lastID += 1
    let id = lastID
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { begin(id, request, traffic, $0) }
    } onCancel: {
      // Looked at after this job, so never before the request has begun.
      thread.cancel(id)
    }
    return try result.get()
  }

  private func begin(
    _ id: Int,
    _ request: HTTPRequest,
    _ traffic: HTTPTraffic,
    _ continuation: CheckedContinuation<CurlExchange.Outcome, Never>
  ) {
    let loop = thread.loop
    do throws(TransferError) {
      let exchange = try CurlExchange(id: id, request: request, traffic: traffic, loop: loop)
      exchange.finished = { continuation.resume(returning: $0) }
      loop.submit(exchange)
    } catch {
      continuation.resume(returning: .failure(error))
    }
  }
}

/// How much a client does at once.
package struct HTTPLimits: Sendable, Equatable {
  /// Requests for contents at the same time; the others wait in the order they came.
  package var bulk: Int
  /// Short questions at the same time.
  package var calls: Int
  /// How long the thread and idle connections are kept without any request.
  package var idle: Duration

  /// What suits two processors: 4 to 16 connections saturate them.
  package init(bulk: Int = 16, calls: Int = 16, idle: Duration = .seconds(30)) {
    self.bulk = bulk
    self.calls = calls
    self.idle = idle
  }
}
