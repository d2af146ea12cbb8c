internal import Crypto
internal import HTTP
internal import LocalFiles
internal import Synchronization
internal import TransferModel

/// The content of one exchange: where its bytes come from or go to, and who counts them.
final class ExchangeBytes: Sendable {
  private let source: HTTPSource?
  private let target: HTTPTarget?
  /// Of the whole source, as far as it is sent.
  private let digest: FrontierDigest?
  /// Of the whole source, where it was read before it is sent.
  private let whole: Sum?
  private let rates: [RateLimiter]
  private let count: (@Sendable (Int64) -> Void)?
  private let state = Mutex(State())

  /// The checksum of a range of the source.
  struct Sum {
    let range: Range<Int64>
    let crc32c: CRC32C
  }

  private struct State {
    /// Moved by the present attempt.
    var moved: Int64 = 0
    /// The limiters that have let the piece in question pass.
    var passed = 0
  }

  /// An exchange that moves no content.
  init() {
    source = nil
    target = nil
    digest = nil
    whole = nil
    rates = []
    count = nil
  }

  /// An exchange that moves content, at most as fast as all of `rates` allow; `count` hears of
  /// every byte, and with a minus of those that an attempt had moved in vain.
  init(
    source: HTTPSource?,
    target: HTTPTarget?,
    digest: FrontierDigest?,
    whole: Sum?,
    rates: [RateLimiter],
    count: @escaping @Sendable (Int64) -> Void
  ) {
    self.source = source
    self.target = target
    self.digest = digest
    self.whole = whole
    self.rates = rates
    self.count = count
  }

  /// Bytes of content moved by the last attempt.
  var moved: Int64 { state.withLock { $0.moved } }

  /// The attempt was in vain.
  func takeBack() {
    let moved = state.withLock { state in
      defer { state.moved = 0 }
      return state.moved
    }
    if moved != 0 { count?(-moved) }
  }

  /// What the client needs to move them.
  func traffic(_ options: HTTPOptions) -> HTTPTraffic {
    HTTPTraffic(
      options: options,
      source: source,
      target: target,
      slice: { [rates] limit in rates.reduce(limit) { $1.slice(limit: $0) } },
      admit: { [self] in admit($0) },
      moved: { [self] bytes in
        guard let count else { return }
        state.withLock { $0.moved += bytes }
        count(bytes)
      }
    )
  }

  /// How long to wait before so many bytes may move; zero: they may.
  private func admit(_ bytes: Int) -> Duration {
    state.withLock { state in
      while state.passed < rates.count {
        if let wait = rates[state.passed].admit(bytes, for: ObjectIdentifier(self)) { return wait }
        state.passed += 1
      }
      state.passed = 0
      return .zero
    }
  }

  /// The header that carries the checksum a request asks for over its body.
  ///
  /// From here on the source's digest may take in what the request sends.
  func checksum(of request: HTTPRequest) async throws(TransferError) -> HTTPHeader? {
    if case .crc32c(let name) = request.checksum, request.body?.count == 1,
      case .source(let part) = request.body?.first, let crc = try await sum(of: part)
    {
      return HTTPHeader(name, crc.base64)
    }
    for case .source(let part) in request.body ?? [] { digest?.read(upTo: part.upperBound) }
    switch request.checksum {
    case .contentMD5:
      let digest = Digest(.md5)
      try forEachPiece(of: request) { digest.update($0) }
      return HTTPHeader("Content-MD5", Base64.encode(digest.finish()))
    case .crc32c(let name):
      var crc = CRC32C()
      try forEachPiece(of: request) { crc.update($0) }
      return HTTPHeader(name, crc.base64)
    case nil:
      return nil
    }
  }

  /// The CRC-32C of a part of the source that comes out of a reading for something else.
  private func sum(of part: Range<Int64>) async throws(TransferError) -> CRC32C? {
    if let whole, whole.range == part { return whole.crc32c }
    return try await digest?.crc32c(of: part)
  }

  private func forEachPiece(
    of request: HTTPRequest,
    _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(TransferError) {
    for piece in request.body ?? [] {
      switch (piece, source) {
      case (.bytes(let bytes), _):
        bytes.withUnsafeBytes { body($0) }
      case (.source(let range), .bytes(let bytes)):
        bytes[Int(range.lowerBound)..<Int(range.upperBound)].withUnsafeBytes { body($0) }
      case (.source(let range), .descriptor(let descriptor, let name)):
        let count = try FileScan.forEachChunk(of: descriptor, in: range) {
          chunk,
          _ throws(TransferError) in
          if Task.isCancelled { throw .stopped }
          body(chunk)
        }
        guard count == range.count else {
          throw TransferError(
            .fileChanged,
            "\"\(name)\" became shorter while it was sent; send it again."
          )
        }
      case (.source, nil):
        preconditionFailure("an exchange without a source sends none of it")
      }
    }
  }
}
