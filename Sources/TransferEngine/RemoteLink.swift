internal import Backends
internal import Crypto
internal import Glibc
internal import HTTP
internal import LocalFiles
internal import TransferModel

/// The way to one remote over HTTP: every request goes through here, authorized anew for each
/// attempt and tried again as often as the remote's answers and the budget allow.
final class RemoteLink: Sendable {
  let remote: any HTTPRemote
  private let client: HTTPClient
  private let options: HTTPOptions
  private let retries: Int
  private let traffic: RemoteTraffic
  private let budget = RetryBudget()
  private let gate = ConcurrencyGate(ceiling: RemoteLink.ceiling)

  init(
    remote: any HTTPRemote,
    client: HTTPClient,
    options: HTTPOptions,
    retries: Int,
    traffic: RemoteTraffic
  ) {
    self.remote = remote
    self.client = client
    self.options = options
    self.retries = retries
    self.traffic = traffic
  }

  /// Asks until there is a value.
  func perform<Value>(
    _ call: RemoteCall<Value>
  ) async throws(TransferError) -> Value {
    var call = call
    while true {
      switch call {
      case .done(let value): return value
      case .ask(let request, let then):
        call = try then(try await send(request, ExchangeBytes()))
      case .askAll(let requests, let then):
        call = try then(try await sendAll(requests))
      }
    }
  }

  /// Contents that move at the same time: as many as the client sends, so that what is signed is
  /// sent at once.
  static let ceiling = 16

  /// Questions without content that are asked at the same time, of one call.
  private static let width = 8

  /// Sends questions, a few at the same time; the first failure ends all.
  func sendAll(_ requests: [HTTPRequest]) async throws(TransferError) -> [HTTPResponse] {
    let answers = await withTaskGroup(of: NumberedAnswer.self) { group in
      var answers: [HTTPResponse?] = Array(repeating: nil, count: requests.count)
      var rest = requests.enumerated().makeIterator()
      func begin() {
        guard let (index, request) = rest.next() else { return }
        group.addTask {
          let result = await Result(of: { () async throws(TransferError) in
            try await self.send(request, ExchangeBytes())
          })
          return NumberedAnswer(index: index, result: result)
        }
      }
      for _ in 0..<Self.width { begin() }
      for await answer in group {
        switch answer.result {
        case .success(let response): answers[answer.index] = response
        case .failure(let error):
          group.cancelAll()
          return Result<[HTTPResponse], TransferError>.failure(error)
        }
        begin()
      }
      return .success(answers.compactMap { $0 })
    }
    return try answers.get()
  }

  private struct NumberedAnswer: Sendable {
    let index: Int
    let result: Result<HTTPResponse, TransferError>
  }

  /// Sends a request until the remote has answered in a way that is for whoever asked; `retries`
  /// where it is not worth as many attempts as the remote is configured for.
  func send(
    _ request: HTTPRequest,
    _ bytes: ExchangeBytes,
    retries: Int? = nil
  ) async throws(TransferError) -> HTTPResponse {
    var request = request
    if let header = try await bytes.checksum(of: request) { request.headers.append(header) }
    var attempt = 1
    var isAmended = false
    var wasRepeated = false
    var options = options
    while true {
      let failure: TransferError
      var wait: Duration?
      switch try await attemptOnce(request, bytes, options) {
      case .answered(var response, let verdict, let isOutdated):
        response.wasRepeated = response.wasRepeated || wasRepeated
        switch verdict {
        case .accept where isOutdated && !isAmended:
          bytes.takeBack()
          isAmended = true
          continue
        case .accept:
          budget.succeeded()
          return response
        case .amend(let error):
          guard !isAmended else { throw error }
          bytes.takeBack()
          isAmended = true
          continue
        case .retry(let error, let after, _):
          failure = error
          wait = after
        }
      case .failed(let error):
        failure = error
        // The others that were open to this host may be as dead.
        options.isFresh = true
      }
      bytes.takeBack()
      let mayHaveArrived = failure.mayHaveArrived ?? true
      wasRepeated = wasRepeated || mayHaveArrived
      let mayAsk = request.isRepeatable || !mayHaveArrived
      // Who listens asks again by itself, and tells its host meanwhile.
      let most = request.lane == .poll ? 0 : retries ?? self.retries
      guard failure.isRetryable, mayAsk, attempt <= most, budget.takeRetry()
      else { throw failure }
      traffic.countRetry()
      let delay = wait ?? Backoff.delay(afterAttempt: attempt, random: .random(in: 0...1))
      do {
        try await Task.sleep(for: delay)
      } catch {
        throw .stopped
      }
      attempt += 1
    }
  }

  private enum Attempt {
    /// `isOutdated`: it refuses what would be signed otherwise by now.
    case answered(HTTPResponse, HTTPVerdict, isOutdated: Bool)
    case failed(TransferError)
  }

  /// One attempt, within the number of requests that the remote bears.
  private func attemptOnce(
    _ request: HTTPRequest,
    _ bytes: ExchangeBytes,
    _ options: HTTPOptions
  ) async throws(TransferError) -> Attempt {
    // Short questions do not wait for contents.
    let isCounted = request.lane == .bulk
    if isCounted { guard await gate.enter() else { throw .stopped } }
    var isThrottled = false
    defer { if isCounted { gate.leave(isThrottled: isThrottled) } }
    let signedMs = Self.nowMs
    let authorized = try remote.authorize(request, nowMs: signedMs)
    do throws(TransferError) {
      let response = try await client.send(authorized, with: bytes.traffic(options))
      // Once: a remote learns from an answer, and would then take the same one for another.
      let verdict = remote.judge(response, to: request, nowMs: Self.nowMs)
      if case .retry(_, _, true) = verdict { isThrottled = true }
      // Answers to others, or the host, may have taught the remote meanwhile what was wrong here.
      var isOutdated = false
      if Self.refusals.contains(response.status) {
        isOutdated = try remote.authorize(request, nowMs: signedMs) != authorized
      }
      return .answered(response, verdict, isOutdated: isOutdated)
    } catch {
      if Task.isCancelled { throw .stopped }
      return .failed(error)
    }
  }

  /// What a request is answered with that is signed for another time, place or key.
  private static let refusals: Set<Int> = [301, 307, 400, 401, 403]

  /// Milliseconds since 1970.
  static var nowMs: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }
}

extension TransferError {
  /// The task was cancelled: a pause, a cancel or the end.
  static var stopped: TransferError { TransferError(.cancelled, "The transfer was cancelled.") }
}
