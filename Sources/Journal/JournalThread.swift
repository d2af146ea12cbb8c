import CLinux
import Glibc
import LocalFiles
import TransferModel

/// The thread that does a journal's work; it ends when the queue is closed and done.
final class JournalThread: Sendable {
  private let folder: String
  private let queue: JournalQueue
  private let tell: @Sendable (TransferError) -> Void
  private let ended: @Sendable () -> Void

  init(
    folder: String,
    queue: JournalQueue,
    tell: @escaping @Sendable (TransferError) -> Void,
    ended: @escaping @Sendable () -> Void
  ) {
    self.folder = folder
    self.queue = queue
    self.tell = tell
    self.ended = ended
  }

  /// Starts it; where that fails, nothing is kept.
  func start() {
    var thread = pthread_t()
    // The thread takes over this one retain.
    let context = Unmanaged.passRetained(self)
    let status = pthread_create(&thread, nil, { runJournal($0) }, context.toOpaque())
    guard status != 0 else {
      pthread_detach(thread)
      return
    }
    context.release()
    tell(.fromErrno(status, doing: "start a thread for the journal in", path: folder))
    queue.close()
    ended()
  }

  fileprivate func run() {
    clinux_name_thread("ferry-journal")
    let files = JournalFiles(folder: folder, tell: tell)
    files.adopt()
    while let batch = queue.next() {
      let isKept = files.write(batch.changes)
      for waiter in batch.waiters { waiter(isKept) }
      for question in batch.questions { question(files) }
    }
    files.close()
    ended()
  }
}

private func runJournal(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<JournalThread>.fromOpaque(context).takeRetainedValue().run()
  return nil
}
