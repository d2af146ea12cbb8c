internal import Synchronization
package import TransferModel

/// Bytes between the host and a running transfer, piece by piece, each side waiting for the other.
///
/// A piece counts as taken once it was read whole: that is the back-pressure. Both sides are
/// served in the order of their calls. At most `heldLimit` bytes of unawaited writes are held.
package final class StreamPipe: Sendable {
  /// Bytes held for a host that writes without awaiting; one piece more ends the stream.
  package static let heldLimit = 4 << 20

  /// Told once: nil when the piece was taken, else why it never will be.
  package typealias Taken = @Sendable (TransferError?) -> Void
  /// Told once: bytes, nil at the end, or why there are none.
  package typealias Received = @Sendable (Result<[UInt8]?, TransferError>) -> Void

  private let state = Mutex(State())

  fileprivate struct State {
    var pieces = Line<Piece>()
    var readers = Line<Reader>()
    var heldBytes = 0
    var isFinished = false
    var failure: TransferError?
    var lastTicket = 0
  }

  fileprivate struct Piece {
    var bytes: [UInt8]
    var offset = 0
    let ticket: Int
    var taken: Taken?
  }

  fileprivate struct Reader {
    let limit: Int
    let ticket: Int
    let received: Received
  }

  /// An empty pipe.
  package init() {}

  /// Hands a piece over; `taken` is told when it was taken, or why not: the error the stream
  /// ended with, `ERR_INVALID_ARGUMENT` after `finish`, `ERR_OVERLOADED` where too much is held.
  /// - Returns: names the piece for `stopWaiting`.
  @discardableResult
  package func write(_ bytes: [UInt8], taken: @escaping Taken) -> Int {
    let (ticket, answers) = state.withLock { state in
      state.lastTicket += 1
      let piece = Piece(bytes: bytes, ticket: state.lastTicket, taken: taken)
      return (state.lastTicket, state.hold(piece) + state.match())
    }
    for answer in answers { answer() }
    return ticket
  }

  /// Asks for up to a number of bytes.
  /// - Returns: names the question for `stopWaiting`.
  @discardableResult
  package func read(upTo limit: Int, received: @escaping Received) -> Int {
    let (ticket, answers) = state.withLock { state in
      state.lastTicket += 1
      state.readers.append(
        Reader(limit: limit, ticket: state.lastTicket, received: received)
      )
      return (state.lastTicket, state.match())
    }
    for answer in answers { answer() }
    return ticket
  }

  /// Answers a call that still waits: a reader gets `ERR_CANCELLED`; a writer hears that its piece
  /// was taken, for it stays to be read.
  package func stopWaiting(_ ticket: Int) {
    let answer = state.withLock { state -> (@Sendable () -> Void)? in
      if let reader = state.readers.remove(where: { $0.ticket == ticket }) {
        return { reader.received(.failure(.cancelledWait)) }
      }
      let taken = state.pieces.change(where: { $0.ticket == ticket }) { $0.taken.take() }
      guard let taken = taken ?? nil else { return nil }
      return { taken(nil) }
    }
    answer?()
  }

  /// Whether all pieces were brought.
  var isFinished: Bool { state.withLock { $0.isFinished } }

  /// No more pieces come: readers get what is held, then the end.
  package func finish() {
    let answers = state.withLock { state in
      state.isFinished = true
      return state.match()
    }
    for answer in answers { answer() }
  }

  /// Ends the stream for both sides; later calls are told the error, waiting ones now.
  package func fail(_ error: TransferError) {
    let answers = state.withLock { state in
      if state.failure == nil { state.failure = error }
      return state.match()
    }
    for answer in answers { answer() }
  }
}

extension StreamPipe {
  /// Hands a piece over and waits until it was taken; a cancelled task waits no longer, and the
  /// piece stays to be read.
  func write(_ bytes: [UInt8]) async throws(TransferError) {
    let ticket = Mutex<Ticket>(.none)
    let failure = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let number = write(bytes) { continuation.resume(returning: $0) }
        enter(number, ticket)
      }
    } onCancel: {
      cancel(ticket)
    }
    if let failure { throw failure }
  }

  /// Takes up to a number of bytes, waiting for some; nil at the end.
  /// - Throws: the error the stream ended with; `ERR_CANCELLED` when the task is cancelled.
  func take(upTo limit: Int) async throws(TransferError) -> [UInt8]? {
    let ticket = Mutex<Ticket>(.none)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let number = read(upTo: limit) { continuation.resume(returning: $0) }
        enter(number, ticket)
      }
    } onCancel: {
      cancel(ticket)
    }
    return try result.get()
  }

  /// A call's number, which a cancellation may need before it is known.
  private enum Ticket {
    case none
    case number(Int)
    case cancelled
  }

  private func enter(_ number: Int, _ ticket: borrowing Mutex<Ticket>) {
    let isCancelled = ticket.withLock { ticket in
      if case .cancelled = ticket { return true }
      ticket = .number(number)
      return false
    }
    if isCancelled { stopWaiting(number) }
  }

  private func cancel(_ ticket: borrowing Mutex<Ticket>) {
    let number = ticket.withLock { ticket -> Int? in
      defer { ticket = .cancelled }
      if case .number(let number) = ticket { return number }
      return nil
    }
    if let number { stopWaiting(number) }
  }
}

extension StreamPipe.State {
  fileprivate typealias Answers = [@Sendable () -> Void]

  /// Keeps a piece, or says at once why not.
  fileprivate mutating func hold(_ piece: StreamPipe.Piece) -> Answers {
    let taken = piece.taken
    if let failure { return [{ taken?(failure) }] }
    if isFinished {
      return [{ taken?(.closedStream) }]
    }
    if piece.bytes.isEmpty { return [{ taken?(nil) }] }
    if heldBytes > 0, heldBytes + piece.bytes.count > StreamPipe.heldLimit {
      // A piece left out would be a hole in the content, so the stream ends here.
      let error = TransferError(
        .overloaded,
        "More than \(StreamPipe.heldLimit) bytes were written without awaiting the answers; the "
          + "stream ended. Await each stream/write before the next."
      )
      failure = error
      return [{ taken?(error) }]
    }
    pieces.append(piece)
    heldBytes += piece.bytes.count
    return []
  }

  /// Serves the readers that can be served; what is returned is called without the lock.
  fileprivate mutating func match() -> Answers {
    var answers: Answers = []
    if let failure {
      for reader in readers.all { answers.append { reader.received(.failure(failure)) } }
      for piece in pieces.all { answers.append { piece.taken?(failure) } }
      readers = Line()
      pieces = Line()
      heldBytes = 0
      return answers
    }
    while let reader = readers.first, !pieces.isEmpty || isFinished {
      readers.dropFirst()
      guard !pieces.isEmpty else {
        answers.append { reader.received(.success(nil)) }
        continue
      }
      let (bytes, taken) = takeFirst(upTo: reader.limit)
      answers.append { reader.received(.success(bytes)) }
      if let taken { answers.append { taken(nil) } }
    }
    return answers
  }

  private mutating func takeFirst(
    upTo limit: Int
  ) -> (bytes: [UInt8], taken: StreamPipe.Taken?) {
    guard let piece = pieces.first else { preconditionFailure("nothing to take") }
    let rest = piece.bytes.count - piece.offset
    guard rest <= limit else {
      pieces.changeFirst { $0.offset += limit }
      heldBytes -= limit
      return (Array(piece.bytes[piece.offset..<piece.offset + limit]), nil)
    }
    pieces.dropFirst()
    heldBytes -= rest
    return (piece.offset == 0 ? piece.bytes : Array(piece.bytes[piece.offset...]), piece.taken)
  }
}

extension TransferError {
  /// Nothing more can be written.
  static let closedStream = TransferError(.invalidArgument, "The stream is closed already.")

  fileprivate static let cancelledWait = TransferError(
    .cancelled,
    "The call was cancelled while it waited."
  )
}
