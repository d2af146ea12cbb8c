internal import Crypto
internal import LocalFiles
internal import Synchronization
internal import TransferModel

/// The running digests of one content.
final class ContentHasher: Sendable {
  private let sha256 = Digest(.sha256)
  private let md5: Digest?
  private let sum: Mutex<CRC32C?>

  /// - Parameters:
  ///   - md5: whether an MD5 is wanted too; it costs several times the sha256.
  ///   - crc32c: whether a CRC-32C is wanted too; it costs a tenth of the sha256.
  init(md5: Bool = false, crc32c: Bool = false) {
    self.md5 = md5 ? Digest(.md5) : nil
    sum = Mutex(crc32c ? CRC32C() : nil)
  }

  var sha256Hex: String { sha256.hex }
  var md5Hex: String? { md5?.hex }
  var crc32c: CRC32C? { sum.withLock { $0 } }

  func update(_ bytes: UnsafeRawBufferPointer) {
    sha256.update(bytes)
    md5?.update(bytes)
    sum.withLock { $0?.update(bytes) }
  }

  func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// Takes a range of a file, and hands every piece on; the error it ended with, if any.
  func update(
    from descriptor: Int32,
    in range: Range<Int64>,
    _ body: (UnsafeRawBufferPointer) -> Void = { _ in }
  ) -> TransferError? {
    do throws(TransferError) {
      let count = try FileScan.forEachChunk(of: descriptor, in: range) {
        chunk,
        _ throws(TransferError) in
        update(chunk)
        body(chunk)
      }
      guard count == range.count else {
        return TransferError(
          .fileChanged,
          "The file became shorter while it was read; try again once nobody writes to it."
        )
      }
      return nil
    } catch {
      return error
    }
  }
}
