import CLinux
import Glibc
import LocalFiles
import Synchronization
import TransferModel

/// Those of this process who wait for the bell, and the one thread that listens for them.
///
/// The thread sleeps in poll(2) on an inotify descriptor; it is started for the first listener and
/// ends with the last.
final class BellListeners: Sendable {
  private let path: String
  private let state = Mutex(State())

  private struct State {
    var streams: [Int: AsyncStream<Void>.Continuation] = [:]
    var nextNumber = 0
    var watch: BellWatch?
    var isClosed = false
  }

  init(path: String) { self.path = path }

  /// A stream of what is heard from now on; the bell's file exists.
  func listen() throws(TransferError) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream<Void>.makeStream(
      bufferingPolicy: .bufferingNewest(1)
    )
    let number = try state.withLock { state throws(TransferError) -> Int? in
      guard !state.isClosed else { return nil }
      if state.watch == nil {
        state.watch = try BellWatch(path: path) { [weak self] in self?.tell() }
      }
      state.nextNumber += 1
      state.streams[state.nextNumber] = continuation
      return state.nextNumber
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.leave(number) }
    return stream
  }

  /// Ends all streams and the thread.
  func close() {
    let streams = state.withLock { state in
      state.isClosed = true
      state.watch?.stop()
      state.watch = nil
      defer { state.streams = [:] }
      return Array(state.streams.values)
    }
    for stream in streams { stream.finish() }
  }

  private func tell() {
    let streams = state.withLock { Array($0.streams.values) }
    for stream in streams { stream.yield() }
  }

  private func leave(_ number: Int) {
    state.withLock { state in
      state.streams[number] = nil
      guard state.streams.isEmpty else { return }
      state.watch?.stop()
      state.watch = nil
    }
  }
}

/// A thread that listens to the bell's file until it is stopped.
private final class BellWatch: Sendable {
  private let inotify: Int32
  private let stopping: Int32

  init(path: String, heard: @escaping @Sendable () -> Void) throws(TransferError) {
    inotify = inotify_init1(Int32(IN_CLOEXEC))
    guard inotify >= 0 else { throw .fromErrno(errno, doing: "watch", path: path) }
    stopping = eventfd(0, Int32(EFD_CLOEXEC))
    guard stopping >= 0, inotify_add_watch(inotify, path, UInt32(IN_MODIFY | IN_ATTRIB)) >= 0
    else { throw .fromErrno(errno, doing: "watch", path: path) }
    try OwnThread.start { self.run(heard) }
  }

  deinit {
    close(inotify)
    close(stopping)
  }

  /// Has the thread end; it may still be in the middle of telling.
  func stop() { eventfd_write(stopping, 1) }

  private func run(_ heard: () -> Void) {
    var sources = [
      pollfd(fd: inotify, events: Int16(POLLIN), revents: 0),
      pollfd(fd: stopping, events: Int16(POLLIN), revents: 0),
    ]
    var events = [UInt8](repeating: 0, count: 4096)
    while true {
      guard poll(&sources, 2, -1) >= 0 else {
        guard errno == EINTR else { return }
        continue
      }
      if sources[1].revents != 0 { return }
      // What the events say is known: it is one file.
      guard read(inotify, &events, events.count) > 0 || errno == EINTR else { return }
      heard()
    }
  }
}
