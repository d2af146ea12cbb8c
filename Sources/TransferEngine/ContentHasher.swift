internal import Crypto
internal import LocalFiles
internal import TransferModel

/// The running digests of one content.
final class ContentHasher: Sendable {
  private let sha256 = Digest(.sha256)
  private let md5: Digest?

  /// - Parameter md5: whether an MD5 is wanted too; it costs several times the sha256.
  init(md5: Bool = false) { self.md5 = md5 ? Digest(.md5) : nil }

  var sha256Hex: String { sha256.hex }
  var md5Hex: String? { md5?.hex }

  func update(_ bytes: UnsafeRawBufferPointer) {
    sha256.update(bytes)
    md5?.update(bytes)
  }

  func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// Takes a range of a file, and hands every piece on; the error it ended with, if any.
  func update(
    from descriptor: Int32,
    in range: Range<Int64>,
    _ body: (UnsafeRawBufferPointer) -> Void = { _ in }
  ) -> TransferError? {
    do throws(TransferError) {
      try FileScan.forEachChunk(of: descriptor, in: range) { chunk, _ throws(TransferError) in
        update(chunk)
        body(chunk)
      }
      return nil
    } catch {
      return error
    }
  }
}
