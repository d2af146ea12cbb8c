import LocalFiles
import TransferModel

/// Where the body of an answer goes: memory with a bound, or a file in large pieces.
///
/// libcurl hands over at most 16 KiB at a time; gathered to 512 KiB, writing 1 GiB to a new file
/// takes less than half the time, to 256 KiB as well.
struct AnswerSink {
  /// Of a successful answer that goes to memory, or the first of another answer.
  private(set) var body: [UInt8] = []
  /// Bytes that are in the target.
  private(set) var delivered: Int64 = 0
  /// Whether there was more than is wanted.
  private(set) var isCut = false

  private enum Place {
    case memory(limit: Int)
    /// What is beyond is not wanted: of an answer that is no success, or asked for so.
    case beginning(limit: Int)
    case target(HTTPTarget, offset: Int64, length: Int64)
  }

  private var place = Place.beginning(limit: AnswerSink.excerptLimit)
  private var buffer: UnsafeMutableRawBufferPointer?
  private var gathered = 0

  /// Enough for any server's explanation.
  static let excerptLimit = 64 << 10

  enum Taken { case all, enough }

  /// Decides by the answer's fields, before its body comes.
  /// - Throws: `ERR_SERVER` for an answer that says it is longer than was asked for.
  mutating func begin(
    _ head: AnswerHead,
    of request: HTTPRequest,
    target: HTTPTarget?,
    buffers: SinkBuffers
  ) throws(TransferError) {
    guard head.isSuccess else { return }
    let length = request.method == .head ? 0 : head.contentLength ?? 0
    let isWhole = { request.header("range") != nil && head.headers.first("content-range") == nil }
    switch request.sink {
    case .memory where isWhole(), .target where isWhole():
      // Other bytes than were asked for: whoever asked hears of it, and decides what follows.
      place = .beginning(limit: 0)
    case .memory(let limit):
      guard length <= limit else { throw Self.tooLong(limit: Int64(limit)) }
      body.reserveCapacity(Int(max(0, length)))
      place = .memory(limit: limit)
    case .beginning(let limit):
      body.reserveCapacity(min(limit, Int(max(0, length))))
      place = .beginning(limit: limit)
    case .target(let offset, let longest):
      guard length <= longest else { throw Self.tooLong(limit: longest) }
      guard let target else {
        throw TransferError(.unknown, "An answer goes to a target, but none was given.")
      }
      buffer = buffers.take()
      place = .target(target, offset: offset, length: longest)
    }
  }

  /// Takes bytes of the body.
  /// - Throws: `ERR_SERVER` for more than was asked for, or what writing came to.
  mutating func take(_ bytes: UnsafeRawBufferPointer) throws(TransferError) -> Taken {
    switch place {
    case .memory(let limit):
      guard body.count + bytes.count <= limit else { throw Self.tooLong(limit: Int64(limit)) }
      body.append(contentsOf: bytes)
    case .beginning(let limit):
      let part = bytes.prefix(limit - body.count)
      body.append(contentsOf: part)
      isCut = part.count < bytes.count
      return isCut ? .enough : .all
    case .target(_, _, let length):
      guard delivered + Int64(gathered + bytes.count) <= length else {
        throw Self.tooLong(limit: length)
      }
      try gather(bytes)
    }
    return .all
  }

  /// Writes what was gathered; again does nothing.
  mutating func flush() throws(TransferError) {
    guard case .target(let target, let offset, _) = place, let buffer, gathered > 0 else { return }
    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<gathered])
    // Whatever comes of it, it is not written twice.
    gathered = 0
    try Descriptor.write(target.descriptor, at: offset + delivered, bytes, path: target.name)
    delivered += Int64(bytes.count)
  }

  /// Gives back what was borrowed.
  mutating func end(_ buffers: SinkBuffers) {
    if let buffer { buffers.give(buffer) }
    buffer = nil
  }

  private mutating func gather(_ bytes: UnsafeRawBufferPointer) throws(TransferError) {
    guard let buffer else { return }
    var left = bytes
    while !left.isEmpty {
      let part = min(left.count, buffer.count - gathered)
      UnsafeMutableRawBufferPointer(rebasing: buffer[gathered..<gathered + part])
        .copyMemory(from: .init(rebasing: left[..<part]))
      gathered += part
      left = .init(rebasing: left[part...])
      if gathered == buffer.count { try flush() }
    }
  }

  private static func tooLong(limit: Int64) -> TransferError {
    TransferError(
      .server,
      "The remote answers with more than the \(limit) bytes that were asked for or can be held; ask"
        + " for less at once, or check that this is the server it should be."
    )
  }
}

/// Buffers that downloads gather in, kept for the next ones.
final class SinkBuffers {
  private var free: [UnsafeMutableRawBufferPointer] = []

  static let size = 256 << 10
  private static let kept = 8

  func take() -> UnsafeMutableRawBufferPointer {
    free.popLast() ?? .allocate(byteCount: Self.size, alignment: 4096)
  }

  func give(_ buffer: UnsafeMutableRawBufferPointer) {
    if free.count < Self.kept { free.append(buffer) } else { buffer.deallocate() }
  }

  deinit {
    for buffer in free { buffer.deallocate() }
  }
}
