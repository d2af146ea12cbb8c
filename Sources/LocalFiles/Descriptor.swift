import CLinux
import Glibc
package import TransferModel

/// An open file descriptor, closed with this value.
package struct Descriptor: ~Copyable, Sendable {
  let number: Int32

  deinit { close(number) }

  /// open(2), close-on-exec; a text with a NUL would name another file in C and is refused.
  static func open(
    _ path: String,
    _ flags: Int32,
    doing: String
  ) throws(TransferError) -> Descriptor {
    try requirePlain(path)
    while true {
      let number = clinux_open(path, flags | O_CLOEXEC, 0)
      let code = errno
      if number >= 0 { return Descriptor(number: number) }
      if code != EINTR { throw .fromErrno(code, doing: doing, path: path) }
    }
  }

  /// Opens once more, for other uses, exactly the file that a descriptor stands for.
  ///
  /// No path is followed, so nothing put in its place meanwhile can be opened instead.
  static func reopen(
    _ number: Int32,
    _ flags: Int32,
    doing: String,
    path: String
  ) throws(TransferError) -> Descriptor {
    let link = procLink(number)
    while true {
      let opened = clinux_open(link, flags | O_CLOEXEC, 0)
      let code = errno
      if opened >= 0 { return Descriptor(number: opened) }
      if code == ENOENT {
        throw TransferError(
          .unknown,
          "Cannot \(doing) '\(TransferError.shown(path))': mount /proc, it is needed."
        )
      }
      if code != EINTR { throw .fromErrno(code, doing: doing, path: path) }
    }
  }

  /// fstat(2).
  static func status(_ number: Int32, path: String) throws(TransferError) -> stat {
    var status = stat()
    guard fstat(number, &status) == 0 else {
      throw .fromErrno(errno, doing: "look at", path: path)
    }
    return status
  }

  /// Where the file is now, free of symbolic links; nil where the kernel does not tell.
  static func path(of number: Int32) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
      let length = buffer.baseAddress.map { readlink(procLink(number), $0, buffer.count) } ?? -1
      guard length > 0, length < buffer.count else { return nil }
      return String(
        decoding: UnsafeRawBufferPointer(buffer).prefix(length),
        as: UTF8.self
      )
    }
  }

  /// pread(2) until the buffer is full or the file ends; returns how much was read.
  package static func read(
    _ number: Int32,
    at offset: Int64,
    into buffer: UnsafeMutableRawBufferPointer,
    path: String?
  ) throws(TransferError) -> Int {
    var done = 0
    while done < buffer.count {
      let count = pread(
        number,
        buffer.baseAddress.map { $0 + done },
        buffer.count - done,
        Int(offset) + done
      )
      if count > 0 {
        done += count
      } else if count == 0 {
        break
      } else if errno != EINTR {
        throw .fromErrno(errno, doing: "read", path: path ?? self.path(of: number) ?? "a file")
      }
    }
    return done
  }

  /// pwrite(2) of all bytes.
  package static func write(
    _ number: Int32,
    at offset: Int64,
    _ bytes: UnsafeRawBufferPointer,
    path: String?
  ) throws(TransferError) {
    var done = 0
    while done < bytes.count {
      let count = pwrite(
        number,
        bytes.baseAddress.map { $0 + done },
        bytes.count - done,
        Int(offset) + done
      )
      if count >= 0 {
        done += count
      } else if errno != EINTR {
        throw .fromErrno(errno, doing: "write to", path: path ?? self.path(of: number) ?? "a file")
      }
    }
  }

  /// Refuses what no file can be called.
  static func requirePlain(_ path: String) throws(TransferError) {
    if path.isEmpty {
      throw TransferError(.invalidArgument, "The path of the file is empty; name a file.")
    }
    if path.utf8.contains(0) {
      throw TransferError(
        .invalidArgument,
        "The path of the file has a NUL character; leave it out."
      )
    }
  }

  static func procLink(_ number: Int32) -> String { "/proc/self/fd/\(number)" }
}
