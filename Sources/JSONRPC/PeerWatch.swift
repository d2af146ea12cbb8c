internal import Glibc

/// Asks the kernel about the other end of a pipe or socket.
package enum PeerWatch {
  /// Whether nobody can read any more what is written to `output`.
  ///
  /// A pipe then says POLLERR, a socket pair POLLHUP; a full one whose reader lives says neither.
  package static func outputReaderGone(_ output: Int32) -> Bool {
    guard output >= 0 else { return true }
    var entry = pollfd(fd: output, events: 0, revents: 0)
    guard poll(&entry, 1, 0) > 0 else { return false }
    return entry.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
  }
}
