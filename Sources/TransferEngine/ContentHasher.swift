internal import Crypto
internal import LocalFiles
internal import TransferModel

/// The running digests of one content.
final class ContentHasher: Sendable {
  private let sha256 = Digest(.sha256)
  private let md5: Digest?

  /// - Parameter md5: whether an MD5 is wanted too; it costs several times the sha256.
  init(md5: Bool) { self.md5 = md5 ? Digest(.md5) : nil }

  var sha256Hex: String { sha256.hex }
  var md5Hex: String? { md5?.hex }

  func update(_ bytes: UnsafeRawBufferPointer) {
    sha256.update(bytes)
    md5?.update(bytes)
  }

  func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// Takes a range of a file; the error it ended with, if any.
  func update(from descriptor: Int32, in range: Range<Int64>) -> TransferError? {
    Self.scan(descriptor, range) { update($0) }
  }

  /// The same, with the MD5 on one thread and the SHA-256 on another: one after the other they take
  /// longer than a disk.
  func updateInParallel(from descriptor: Int32, in range: Range<Int64>) async -> TransferError? {
    guard let md5 else { return update(from: descriptor, in: range) }
    async let sha256Error = Self.scan(descriptor, range) { [sha256] in sha256.update($0) }
    let md5Error = Self.scan(descriptor, range) { md5.update($0) }
    return await sha256Error ?? md5Error
  }

  private static func scan(
    _ descriptor: Int32,
    _ range: Range<Int64>,
    _ take: (UnsafeRawBufferPointer) -> Void
  ) -> TransferError? {
    do throws(TransferError) {
      try FileScan.forEachChunk(of: descriptor, in: range) { chunk, _ throws(TransferError) in
        take(chunk)
      }
      return nil
    } catch {
      return error
    }
  }
}
