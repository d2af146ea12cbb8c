import Backends
import Configuration
import JSON
import Testing
import TransferModel

@testable import S3Backend

/// 2015-08-30T12:36:00Z.
let now: Int64 = 1_440_938_160_000

/// A bucket `b` of a MinIO server, unless the closure says otherwise.
func makeRemote(
  environment: [String: String] = [:],
  files: [String: String] = [:],
  _ change: (inout S3Settings) -> Void = { _ in }
) -> S3Remote {
  var settings = S3Settings(bucket: "b")
  settings.endpoint = "http://127.0.0.1:9000"
  settings.provider = .minio
  settings.credentials = .init(accessKeyID: Secret("AKID"), secretAccessKey: Secret("hunter2"))
  change(&settings)
  let profile = AWSProfile(environment: environment, profile: settings.profile) { path in
    files[path].map { Array($0.utf8) }
  }
  return S3Remote(settings, profile: profile)
}

func answer(
  _ status: Int,
  _ headers: [String: String] = [:],
  _ body: String = "",
  delivered: Int64 = 0
) -> HTTPResponse {
  HTTPResponse(
    status: status,
    headers: headers.map { HTTPHeader($0.key, $0.value) },
    body: Array(body.utf8),
    delivered: delivered
  )
}

/// An error as S3 words it.
func fault(
  _ status: Int,
  _ code: String,
  _ more: String = "",
  _ headers: [String: String] = [:]
)
  -> HTTPResponse
{
  answer(status, headers, "<?xml version=\"1.0\"?><Error><Code>\(code)</Code>\(more)</Error>")
}

/// What an object's HEAD answers.
func objectHeaders(
  size: Int,
  etag: String = "\"e\"",
  _ more: [String: String] = [:]
) -> [String: String] {
  [
    "Content-Length": "\(size)", "ETag": etag, "Last-Modified": "Sun, 30 Aug 2015 12:36:00 GMT",
    "Content-Type": "text/plain",
  ].merging(more) { $1 }
}

/// Asks until there is a value, with these answers one after the other; also what was asked.
func run<Value>(
  _ call: RemoteCall<Value>,
  _ answers: [HTTPResponse]
) throws(TransferError) -> (value: Value, requests: [HTTPRequest]) {
  var call = call
  var requests: [HTTPRequest] = []
  var answers = answers[...]
  while true {
    switch call {
    case .done(let value):
      #expect(answers.isEmpty, "answers that nobody asked for")
      return (value, requests)
    case .ask(let request, let then):
      requests.append(request)
      guard let answer = answers.popFirst() else {
        throw TransferError(
          .unknown,
          "unexpected: \(request.method) \(request.path)?\(request.query)"
        )
      }
      call = try then(answer)
    case .askAll(let several, let then):
      requests += several
      let taken = answers.prefix(several.count)
      guard taken.count == several.count else {
        throw TransferError(.unknown, "\(several.count) unexpected questions")
      }
      answers = answers.dropFirst(several.count)
      call = try then(Array(taken))
    }
  }
}

extension HTTPRequest {
  /// Method, path and query on one line.
  var line: String { "\(method.rawValue) \(path)\(query.isEmpty ? "" : "?")\(query)" }
}

/// Hands a backend outcomes and looks at what it wants.
struct Conversation {
  var backend: any Backend

  /// The next step, which has to be an exchange.
  mutating func exchange(
    _ line: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> HTTPExchange {
    let step = backend.next()
    guard case .http(let exchange) = step else {
      Issue.record("\(step)", sourceLocation: sourceLocation)
      throw TransferError(.unknown, "no exchange")
    }
    #expect(exchange.request.line == line, sourceLocation: sourceLocation)
    return exchange
  }

  /// The next step has to be an exchange, which is answered at once; returns what was asked.
  @discardableResult
  mutating func ask(
    _ line: String,
    _ response: HTTPResponse,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> HTTPRequest {
    let exchange = try exchange(line, sourceLocation: sourceLocation)
    backend.receive(.answered(id: exchange.id, response))
    return exchange.request
  }

  /// The next step has to be one on the host's side.
  mutating func perform(
    _ operation: ContentOperation,
    _ outcome: StepOutcome,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(backend.next() == .content(operation), sourceLocation: sourceLocation)
    backend.receive(outcome)
  }

  /// The source is opened.
  mutating func open(
    size: Int64,
    sha256: String? = nil,
    identity: String = "i",
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    perform(
      .openSource,
      .sourceOpened(.init(size: size, sha256: sha256, identity: identity)),
      sourceLocation: sourceLocation
    )
  }

  /// The error that the next step has to be.
  mutating func failure(sourceLocation: SourceLocation = #_sourceLocation) throws -> TransferError {
    let step = backend.next()
    guard case .fail(let error) = step else {
      Issue.record("\(step)", sourceLocation: sourceLocation)
      throw TransferError(.unknown, "no failure")
    }
    return error
  }

  /// The result that the next step has to be.
  mutating func result(sourceLocation: SourceLocation = #_sourceLocation) throws -> TransferResult {
    let step = backend.next()
    guard case .done(let result) = step else {
      Issue.record("\(step)", sourceLocation: sourceLocation)
      throw TransferError(.unknown, "not done")
    }
    return result
  }
}
