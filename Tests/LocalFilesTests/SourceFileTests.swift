import Glibc
import Testing
import TransferModel

@testable import LocalFiles

@Suite struct SourceFileTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("a file is read whole, in any order, and never past its end")
  func reads() throws {
    let content = noise(300_000)
    let source = try SourceFile.open(try folder.file("a b é", content))
    #expect(source.size == 300_000)
    #expect(try read(source, at: 0, count: 400_000) == content)
    #expect(try read(source, at: 299_990, count: 4096) == Array(content.suffix(10)))
    #expect(try read(source, at: 1234, count: 1) == [content[1234]])
    #expect(try read(source, at: 300_000, count: 10) == [])
    #expect(try read(source, at: 400_000, count: 10) == [])
    try source.verifyUnchanged()
  }

  @Test("an empty file is a file")
  func empty() throws {
    let source = try SourceFile.open(try folder.file("empty", ""))
    #expect(source.size == 0)
    #expect(try read(source, at: 0, count: 10) == [])
    try source.verifyUnchanged()
  }

  @Test("a symbolic link to a file is followed")
  func followsLinks() throws {
    try folder.file("real", "abc")
    let source = try SourceFile.open(try folder.link("link", to: "real"))
    #expect(try read(source, at: 0, count: 10) == Array("abc".utf8))
  }

  @Test("what is no regular file is refused at once, each kind in its own words")
  func otherKinds() throws {
    #expect(mkfifo(folder("pipe"), 0o600) == 0)
    let socketPath = folder("socket")
    #expect(bindSocket(at: socketPath))
    for (path, word) in [
      (try folder.folder("sub"), "folder"), (folder("pipe"), "named pipe"),
      (socketPath, "socket"), ("/dev/null", "device"), ("/dev/tty", "device"),
      (try folder.link("to-pipe", to: "pipe"), "named pipe"),
    ] {
      let error = failure { () throws(TransferError) in _ = try SourceFile.open(path) }
      #expect(error?.code == .invalidFileObject)
      #expect(error?.message.contains(word) == true, "\(error?.message ?? "opened")")
    }
  }

  @Test("a pipe's writer is not woken: its open for writing still finds no reader")
  func pipeUntouched() throws {
    #expect(mkfifo(folder("pipe"), 0o600) == 0)
    #expect(failure { () throws(TransferError) in _ = try SourceFile.open(folder("pipe")) } != nil)
    let writer = open(folder("pipe"), O_WRONLY | O_NONBLOCK)
    #expect(writer < 0 && errno == ENXIO)
  }

  @Test(
    "a path that leads nowhere says so by its code",
    arguments: [
      ("missing", ErrorCode.fileNotFound), ("file/below", .fileNotFound),
      ("dangling", .fileNotFound), ("loop", .invalidFileObject), ("loop/x", .invalidFileObject),
      (String(repeating: "n", count: 256), .invalidArgument),
      (String(repeating: "d/", count: 3000), .invalidArgument), ("nul\0", .invalidArgument),
    ]
  )
  func nowhere(name: String, code: ErrorCode) throws {
    try folder.file("file")
    try folder.link("dangling", to: "missing")
    try folder.link("loop", to: "loop2")
    try folder.link("loop2", to: "loop")
    let error = failure { () throws(TransferError) in _ = try SourceFile.open(folder(name)) }
    #expect(error?.code == code, "\(error?.message ?? "opened")")
    #expect((error?.message.utf8.count ?? 0) < 700)
  }

  @Test("the empty path is refused")
  func emptyPath() {
    #expect(
      failure { () throws(TransferError) in _ = try SourceFile.open("") }?.code == .invalidArgument
    )
  }

  @Test("a file one may not read is denied", .enabled(if: canBeNobody, "root keeps its power here"))
  func unreadable() throws {
    chmod(folder.path, 0o755)
    chmod(try folder.file("secret"), 0o000)
    let error = asNobody {
      failure { () throws(TransferError) in _ = try SourceFile.open(folder("secret")) }
    }
    #expect(error?.code == .fileAccessDenied, "\(error?.message ?? "opened")")
  }

  @Test("a file that shrinks while it is read has changed")
  func shrinks() throws {
    let source = try SourceFile.open(try folder.file("f", noise(100_000)))
    #expect(try read(source, at: 0, count: 1000).count == 1000)
    #expect(truncate(folder("f"), 50_000) == 0)
    #expect(try read(source, at: 0, count: 50_000).count == 50_000)
    let error = failure { () throws(TransferError) in
      try withUnsafeTemporaryAllocation(byteCount: 100_000, alignment: 1) {
        (buffer) throws(TransferError) in _ = try source.read(at: 0, into: buffer)
      }
    }
    #expect(error?.code == .fileChanged)
    #expect(
      failure { () throws(TransferError) in try source.verifyUnchanged() }?.code == .fileChanged
    )
  }

  @Test("a file that grows is read to its announced end and has changed")
  func grows() throws {
    let source = try SourceFile.open(try folder.file("f", "12345"))
    try append("6789", to: folder("f"))
    #expect(try read(source, at: 0, count: 100) == Array("12345".utf8))
    #expect(
      failure { () throws(TransferError) in try source.verifyUnchanged() }?.code == .fileChanged
    )
  }

  @Test("a file rewritten with as many bytes has changed")
  func rewritten() throws {
    let source = try SourceFile.open(try folder.file("f", "12345"))
    let number = open(folder("f"), O_WRONLY)
    defer { close(number) }
    #expect(pwrite(number, "9", 1, 2) == 1)
    #expect(
      failure { () throws(TransferError) in try source.verifyUnchanged() }?.code == .fileChanged
    )
  }

  @Test("another name, link, mode or a file renamed over it leaves the content as announced")
  func replaced() throws {
    let source = try SourceFile.open(try folder.file("f", "old"))
    #expect(link(folder("f"), folder("second")) == 0)
    #expect(chmod(folder("f"), 0o640) == 0)
    try folder.file("new", "other content")
    #expect(rename(folder("new"), folder("f")) == 0)
    #expect(unlink(folder("second")) == 0)
    #expect(try read(source, at: 0, count: 100) == Array("old".utf8))
    try source.verifyUnchanged()
  }

  @Test("a file of the kernel, which hides its size, is refused rather than sent empty")
  func procFile() {
    let error = failure { () throws(TransferError) in _ = try SourceFile.open("/proc/self/status") }
    #expect(error?.code == .invalidFileObject)
    #expect(error?.message.contains("stream") == true)
  }

  @Test("identities are equal for the same content and differ for another file or content")
  func identities() throws {
    let first = try SourceFile.open(try folder.file("a", "same")).identity
    let again = try SourceFile.open(folder("a")).identity
    let other = try SourceFile.open(try folder.file("b", "same")).identity
    #expect(first == again && first.description == again.description)
    #expect(first != other && first.description != other.description)
    try append("x", to: folder("a"))
    let later = try SourceFile.open(folder("a")).identity
    #expect(first != later && first.description != later.description)
  }

  private func read(_ source: SourceFile, at offset: Int64, count: Int) throws -> [UInt8] {
    try withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { buffer in
      Array(buffer.prefix(try source.read(at: offset, into: buffer)))
    }
  }

  private func bindSocket(at path: String) -> Bool {
    let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(number) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }
}
