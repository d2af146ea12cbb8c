import CLinux
import Glibc
import LocalFiles
import Synchronization
package import TransferModel

/// Content that is being written and that nobody sees before it is published.
///
/// It is `incoming/<id>.part`, mode 0600, locked by flock(2) for as long as this object lives: a
/// part whose lock can be taken belongs to a dead process and is removed by the next start.
/// Dropping the object unpublished removes the part.
package final class Staging: Sendable {
  /// Becomes the id of the content.
  package let id: String
  /// Open for reading and writing; closed when the object goes.
  package let descriptor: Int32
  /// The part, absolute; gone once published or discarded.
  package let path: String
  private let state = Mutex(State.open(isSynced: false))

  /// `open` may become any other; `publishing` becomes `published`, or `open` when it failed.
  private enum State {
    case open(isSynced: Bool)
    case publishing
    case published
    case discarded
    case kept
  }

  /// Makes the part; blocks.
  init(layout: StoreLayout, ids: ContentID, expectedSize: Int64?) throws(TransferError) {
    while true {
      let id = ids.next()
      let path = layout.part(id)
      let descriptor = clinux_open(
        path,
        O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
        0o600
      )
      guard descriptor >= 0 else { throw .fromErrno(errno, doing: "make", path: path) }
      do throws(TransferError) {
        if try Self.lock(descriptor, path) {
          (self.id, self.path, self.descriptor) = (id, path, descriptor)
          break
        }
      } catch {
        unlink(path)
        close(descriptor)
        throw error
      }
      // Another process's start swept the part between its making and its locking.
      close(descriptor)
    }
    // Small parts fit or not within one write; reserving would cost them more than it tells.
    if let expectedSize, expectedSize >= 1 << 20 { try reserve(expectedSize) }
  }

  /// Takes up the part that an earlier process left, which the index does not name; nil where it is
  /// gone or another has it.
  init?(reopening id: String, layout: StoreLayout) throws(TransferError) {
    let path = layout.part(id)
    let descriptor = clinux_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw .fromErrno(errno, doing: "go on with", path: path)
    }
    var info = stat()
    guard clinux_flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &info) == 0,
      info.st_nlink > 0
    else {
      close(descriptor)
      return nil
    }
    (self.id, self.path, self.descriptor) = (id, path, descriptor)
    // Linked just before the kill; no row names it, and publishing links it anew.
    unlink(layout.content(id))
  }

  /// Leaves the part for a later process.
  package func keep() {
    state.withLock { if case .open = $0 { $0 = .kept } }
  }

  deinit {
    discard()
    close(descriptor)
  }

  /// Makes the bytes durable; blocks for as long as the disk needs.
  ///
  /// Publishing does it where it was not done, for many parts at once and one after the other: worth
  /// leaving to it for small parts. Large ones are better synced here first, where blocking is
  /// allowed, after their last byte was written, so that they delay no other publishing.
  package func sync() throws(TransferError) {
    guard fdatasync(descriptor) == 0 else {
      // After EIO the pages may count as clean: never asked again, the part must be thrown away.
      throw .fromErrno(errno, doing: "sync", path: path)
    }
    state.withLock { if case .open = $0 { $0 = .open(isSynced: true) } }
  }

  /// Removes the part; nothing happens once publishing has begun.
  package func discard() {
    let isOpen = state.withLock { state in
      guard case .open = state else { return false }
      state = .discarded
      return true
    }
    if isOpen { unlink(path) }
  }

  /// Marks the beginning of publishing; gives whether the bytes were synced already.
  func beginPublishing() throws(TransferError) -> Bool {
    try state.withLock { state throws(TransferError) in
      switch state {
      case .open(let isSynced):
        state = .publishing
        return isSynced
      case .publishing, .published:
        throw TransferError(.unknown, "content \(id) is published already")
      case .discarded, .kept:
        throw TransferError(.cancelled, "content \(id) was thrown away before it was published")
      }
    }
  }

  /// Marks that the index has the content, and removes the part's name.
  func published() {
    state.withLock { $0 = .published }
    unlink(path)
  }

  /// Marks that it may be discarded or tried again.
  func publishingFailed() {
    state.withLock { $0 = .open(isSynced: false) }
  }

  /// Fails early where the disk has no room for the bytes.
  private func reserve(_ size: Int64) throws(TransferError) {
    // Keeping the size lets a reader of the part tell how far it is; no support is no failure.
    guard clinux_fallocate(descriptor, 1, 0, size) != 0 else { return }
    let code = errno
    guard code == ENOSPC || code == EDQUOT || code == EFBIG else { return }
    throw .fromErrno(
      code == EFBIG ? ENOSPC : code,
      doing: "reserve \(size) bytes for",
      path: path
    )
  }

  /// Takes the lock; false where the part has lost its name meanwhile.
  private static func lock(_ descriptor: Int32, _ path: String) throws(TransferError) -> Bool {
    while clinux_flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw .fromErrno(errno, doing: "lock", path: path) }
    }
    var info = stat()
    return fstat(descriptor, &info) == 0 && info.st_nlink > 0
  }
}
