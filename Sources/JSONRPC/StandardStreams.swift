internal import CLinux
internal import Glibc

/// The process's own stdin and stdout, taken away from everything else in it.
package enum StandardStreams {
  /// Keeps private copies of descriptors 0 and 1 and closes the originals to others.
  ///
  /// The copies are at least 3 and close on exec. Afterwards 0 is `/dev/null` and 1 is stderr, so
  /// that a stray `print` cannot break the protocol; SIGPIPE is ignored, so that a closed stdout
  /// is an error of write(2). File status flags, which others share, stay as they are.
  /// - Returns: the copies; `output` is -1 when stdout was closed at the start, which the first
  ///   write then reports.
  package static func takeOver() -> (input: Int32, output: Int32) {
    signal(SIGPIPE, SIG_IGN)
    let none = clinux_open("/dev/null", O_RDWR | O_CLOEXEC, 0)
    let nothing = clinux_fcntl(none, F_DUPFD_CLOEXEC, 3)
    if none > 2 { close(none) }
    if clinux_fcntl(2, F_GETFD, 0) < 0 { dup2(nothing, 2) }
    // A descriptor that was closed now may be /dev/null itself: an empty stdin, a lost stdout.
    let input = clinux_fcntl(0, F_DUPFD_CLOEXEC, 3)
    let output = none == 1 ? -1 : clinux_fcntl(1, F_DUPFD_CLOEXEC, 3)
    dup2(nothing, 0)
    dup2(2, 1)
    defer { if input >= 0 { close(nothing) } }
    return (input >= 0 ? input : nothing, output)
  }
}
