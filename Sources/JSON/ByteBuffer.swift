/// Bytes that are only ever appended to: as an array, without an array's checks at each of the
/// thousand appends a line of output is made of.
struct ByteBuffer: ~Copyable {
  private var base: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  private(set) var count = 0

  /// Starts empty.
  init(capacity: Int) {
    self.capacity = capacity
    base = .allocate(capacity: capacity)
  }

  deinit { base.deallocate() }

  var array: [UInt8] { Array(UnsafeBufferPointer(start: base, count: count)) }

  mutating func removeAll() { count = 0 }

  /// Makes room for so many more bytes.
  @inline(__always)
  mutating func reserve(_ more: Int) {
    if capacity - count < more { grow(more) }
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    appendReserved(byte)
  }

  /// Appends a byte there is room for.
  @inline(__always)
  mutating func appendReserved(_ byte: UInt8) {
    base[count] = byte
    count += 1
  }

  @inline(__always)
  mutating func append(contentsOf bytes: UnsafeBufferPointer<UInt8>) {
    reserve(bytes.count)
    appendReserved(contentsOf: bytes)
  }

  /// Appends bytes there is room for.
  @inline(__always)
  mutating func appendReserved(contentsOf bytes: UnsafeBufferPointer<UInt8>) {
    guard let source = bytes.baseAddress else { return }
    (base + count).update(from: source, count: bytes.count)
    count += bytes.count
  }

  /// Appends text as it is.
  mutating func append(contentsOf text: String) {
    var text = text
    text.withUTF8 { append(contentsOf: $0) }
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    capacity = max(capacity * 2, count + more)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.update(from: base, count: count)
    base.deallocate()
    base = larger
  }
}
