import CLinux
import Glibc
import LocalFiles
import TransferModel

/// Stored bytes, open for reading: they stay readable when the object or file is overwritten or
/// deleted meanwhile.
package final class StoredContent: Sendable {
  /// The content's id; an object's ETag.
  package let id: String
  /// Open for reading; closed when the object goes.
  package let descriptor: Int32
  /// Bytes.
  package let size: Int64
  /// Lower-case hexadecimal, where known.
  package let sha256: String?

  /// Opens the content; blocks.
  ///
  /// The caller holds the index's lock: content is removed only after its row is, so what a row
  /// names can be opened.
  init(
    id: String,
    size: Int64,
    sha256: String?,
    layout: StoreLayout
  ) throws(TransferError) {
    let path = layout.content(id)
    descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
    guard descriptor >= 0 else {
      let code = errno
      guard code == ENOENT else { throw .fromErrno(code, doing: "open", path: path) }
      throw TransferError(
        .notFound,
        "\(path) is gone although the index names it: somebody removed it by hand; "
          + "delete the object or file, or store it again"
      )
    }
    (self.id, self.size, self.sha256) = (id, size, sha256)
  }

  deinit { close(descriptor) }
}
