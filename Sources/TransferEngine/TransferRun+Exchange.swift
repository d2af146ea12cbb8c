internal import Backends
internal import HTTP
internal import LocalFiles
internal import TransferModel

/// The exchanges of a transfer over HTTP.
extension TransferRun {
  /// What came of an exchange.
  struct Answer: Sendable {
    let exchange: HTTPExchange
    let result: Result<HTTPResponse, TransferError>
    /// Bytes of content that it moved.
    let moved: Int64
  }

  /// Makes an exchange ready; what is returned performs it.
  func answer(
    to exchange: HTTPExchange
  ) throws(TransferError) -> @Sendable () async -> Answer {
    let link = try link()
    switch exchange.phase {
    case .finish:
      // What changed while it was read must not become an object.
      try source?.verifyUnchanged()
      bytesMoved()
    case .publish:
      bytesMoved()
    case .prepare, .upload, .download, .list, .delete, .subscribe:
      break
    }
    let bytes = self.bytes(of: exchange.request)
    let send: @Sendable () async -> Result<HTTPResponse, TransferError> = {
      await Result(of: { () async throws(TransferError) in
        if exchange.delay > .zero {
          do { try await Task.sleep(for: exchange.delay) } catch { throw .stopped }
        }
        return try await link.send(exchange.request, bytes)
      })
    }
    return {
      let result = exchange.outlivesStop ? await outlivingStop(send) : await send()
      return Answer(exchange: exchange, result: result, moved: bytes.moved)
    }
  }

  /// Hands an answer to the backend and keeps what that makes of it.
  ///
  /// - Returns: what ended the exchange for good; nil where the backend has the answer or hears
  ///   that it was stopped.
  func take(_ answer: Answer) -> TransferError? {
    let exchange = answer.exchange
    switch answer.result {
    case .success(let response):
      if response.isSuccess, case .target(let offset, _) = exchange.request.sink {
        let range = offset..<offset + response.delivered
        if range.count > AdmissionQueue.smallLimit { part?.beginWriteback(of: range) }
        follow(range)
      }
      backend.receive(.answered(id: exchange.id, response))
    case .failure(let error):
      if error.code == .cancelled {
        backend.receive(.interrupted(id: exchange.id))
      } else if exchange.tellsFailure {
        backend.receive(.failed(id: exchange.id, error))
      } else {
        meter.settle(backend.settled, ending: answer.moved)
        return placed(error.during(exchange.phase))
      }
    }
    meter.settle(backend.settled, ending: answer.moved)
    return nil
  }

  func link() throws(TransferError) -> RemoteLink {
    switch try remotes.open(spec.remote) {
    case .http(let link): return link
    case .local: preconditionFailure("the embedded remote speaks no HTTP")
    }
  }

  /// What a request's content is; questions have none.
  private func bytes(of request: HTTPRequest) -> ExchangeBytes {
    guard request.lane == .bulk else { return ExchangeBytes() }
    let outgoing: HTTPSource? =
      if let heldSource {
        .bytes(heldSource)
      } else if let source {
        .descriptor(source.number, name: source.path)
      } else if case .bytes(let bytes) = spec.source {
        .bytes(bytes)
      } else {
        nil
      }
    return ExchangeBytes(
      source: outgoing,
      target: part.map { HTTPTarget(descriptor: $0.number, name: $0.targetPath) },
      digest: spec.direction == .upload ? following : nil,
      whole: wholeSum,
      rates: rates,
      count: { [meter, traffic, direction = spec.direction] bytes in
        meter.moved(bytes)
        if bytes > 0 { traffic?.count(Int(bytes), direction) }
      }
    )
  }
}

/// Does something that goes on for five seconds more once the task that waits for it is cancelled.
private func outlivingStop<Value: Sendable>(
  _ work: @escaping @Sendable () async -> Value
) async -> Value {
  // Ends with `work`, at the latest with the patience.
  let task = Task { await work() }
  return await withTaskCancellationHandler {
    await task.value
  } onCancel: {
    Task {
      try? await Task.sleep(for: .seconds(5))  // Nobody cancels it.
      task.cancel()
    }
  }
}
