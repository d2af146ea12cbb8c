import Glibc
import Testing
import TransferModel

@testable import LocalFiles

@Suite struct PartFileTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(
    "a part is private and beside its target until it is published, then only the target is there"
  )
  func publishes() throws {
    let part = try PartFile.create(for: folder("out.bin"), overwrite: false)
    let content = noise(3_000_000)
    try part.write(Array(content.suffix(from: 1_000_000)), at: 1_000_000)
    try part.write(Array(content.prefix(1_000_000)), at: 0)
    #expect(try folder.names() == [ObjectReference.lastComponent(of: part.path)])
    #expect(part.path.hasPrefix(folder(".out.bin.")) && part.path.hasSuffix(".part"))
    #expect(mode(part.path) == 0o600)
    #expect(try part.size() == 3_000_000)
    try part.publish(overwrite: false)
    #expect(try folder.names() == ["out.bin"])
    #expect(try folder.content("out.bin") == content)
    let plain = open(folder("plain"), O_CREAT | O_WRONLY, 0o666)
    defer { close(plain) }
    #expect(mode(folder("out.bin")) == mode(folder("plain")))
  }

  @Test("a mode of its own is narrowed by the umask, and an empty file is a file")
  func ownMode() throws {
    let part = try PartFile.create(for: folder("f"), overwrite: false)
    try part.publish(overwrite: false, mode: 0o600, durable: false)
    #expect(mode(folder("f")) == 0o600)
    #expect(try folder.content("f").isEmpty)
  }

  @Test("a file that is in its place is no failure for want of another descriptor")
  func fewDescriptors() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let part = try PartFile.create(for: folder("f"), overwrite: false)
      var usual = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &usual)
      var few = usual
      few.rlim_cur = 3
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &few)
      let error = failure { () throws(TransferError) in try part.publish(overwrite: false) }
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &usual)
      precondition(error == nil, "\(error?.message ?? "")")
      let names = try folder.names()
      precondition(names == ["f"], "\(names)")
    }
  }

  @Test("a part that is dropped or discarded leaves nothing, one that is kept stays")
  func dropped() throws {
    do { _ = try PartFile.create(for: folder("a"), overwrite: false) }
    #expect(try folder.names() == [])
    let part = try PartFile.create(for: folder("a"), overwrite: false)
    part.discard()
    part.discard()
    #expect(try folder.names() == [])
    #expect(
      failure { () throws(TransferError) in try part.publish(overwrite: true) }?.code == .cancelled
    )
    #expect(try folder.names() == [])
    do { try PartFile.create(for: folder("a"), overwrite: false).keep() }
    #expect(try folder.names().count == 1)
  }

  @Test("a part may be named before it is made, and is not made over another")
  func namedBefore() throws {
    let path = PartFile.newPath(for: folder("a"))
    #expect(try folder.names() == [])
    let part = try PartFile.create(for: folder("a"), overwrite: false, at: path)
    #expect(part.path == path)
    #expect(try folder.names() == [ObjectReference.lastComponent(of: path)])
    #expect(
      failure { () throws(TransferError) in
        _ = try PartFile.create(for: folder("a"), overwrite: false, at: path)
      }?.code == .targetExists
    )
    try part.publish(overwrite: false)
    #expect(try folder.names() == ["a"])
  }

  @Test("an existing target is refused before and after the bytes unless overwriting is allowed")
  func existing() throws {
    try folder.file("f", "old")
    #expect(creating("f", overwrite: false)?.code == .targetExists)
    let part = try PartFile.create(for: folder("late"), overwrite: false)
    try part.write(Array("new".utf8), at: 0)
    try folder.file("late", "old")
    #expect(
      failure { () throws(TransferError) in try part.publish(overwrite: false) }?.code
        == .targetExists
    )
    #expect(try folder.text("late") == "old")
    try part.publish(overwrite: true)
    #expect(try folder.text("late") == "new")
    #expect(try folder.names() == ["f", "late"])
  }

  @Test("without the kernel's help, too, an existing target is never replaced")
  func withoutRenameat2() throws {
    let part = try PartFile.create(for: folder("f"), overwrite: false)
    try part.write(Array("new".utf8), at: 0)
    try folder.file("f", "old")
    #expect(
      failure { () throws(TransferError) in try part.linkWithoutReplacing() }?.code
        == .targetExists
    )
    #expect(try folder.text("f") == "old")
    #expect(unlink(folder("f")) == 0)
    try part.linkWithoutReplacing()
    #expect(try folder.names() == ["f"])
    #expect(try folder.text("f") == "new")
  }

  @Test("a link in the target's place is replaced itself and what it leads to is not touched")
  func links() throws {
    try folder.file("precious", "old")
    try folder.link("link", to: "precious")
    try folder.link("dangling", to: "missing")
    for name in ["link", "dangling"] {
      #expect(creating(name, overwrite: false)?.code == .targetExists)
      let part = try PartFile.create(for: folder(name), overwrite: true)
      try part.write(Array("new".utf8), at: 0)
      try part.publish(overwrite: true)
      #expect(try folder.text(name) == "new")
    }
    #expect(try folder.text("precious") == "old")
    #expect(try folder.names() == ["dangling", "link", "precious"])
  }

  @Test(
    "targets that cannot be files are refused in clear words and leave nothing",
    arguments: [
      ("sub", ErrorCode.invalidFileObject, "folder"), ("sub/", .invalidFileObject, "folder"),
      (".", .invalidFileObject, "folder"), ("sub/..", .invalidFileObject, "folder"),
      ("to-sub", .invalidFileObject, "folder"), ("pipe", .invalidFileObject, "pipe"),
      ("to-null", .invalidFileObject, "device"), ("missing/f", .fileNotFound, "create it first"),
      ("file/f", .fileNotFound, "create it first"), ("loop/f", .invalidFileObject, "circle"),
      (String(repeating: "n", count: 256), .invalidArgument, "too long"),
      ("nul\0", .invalidArgument, "NUL"),
    ]
  )
  func impossible(name: String, code: ErrorCode, says: String) throws {
    try folder.folder("sub")
    try folder.file("file")
    try folder.link("to-sub", to: "sub")
    try folder.link("to-null", to: "/dev/null")
    try folder.link("loop", to: "loop")
    #expect(mkfifo(folder("pipe"), 0o600) == 0)
    let before = try folder.names()
    let error = creating(name, overwrite: true)
    #expect(error?.code == code)
    #expect(error?.message.contains(says) == true, "\(error?.message ?? "created")")
    #expect(try folder.names() == before)
  }

  @Test("a device is never replaced, not even by root")
  func devices() {
    let error = failure { () throws(TransferError) in
      _ = try PartFile.create(for: "/dev/null", overwrite: true)
    }
    #expect(error?.code == .invalidFileObject)
  }

  @Test(
    "a folder one may not write to is denied",
    .enabled(if: canBeNobody, "root keeps its power here")
  )
  func denied() throws {
    chmod(folder.path, 0o555)
    defer { chmod(folder.path, 0o755) }
    let error = asNobody { creating("f", overwrite: false) }
    #expect(error?.code == .fileAccessDenied, "\(error?.message ?? "created")")
  }

  @Test(
    "a folder one may write to but not list is enough",
    .enabled(if: canBeNobody, "root keeps its power here")
  )
  func unlistable() throws {
    chmod(folder.path, 0o333)
    defer { chmod(folder.path, 0o755) }
    let error = asNobody {
      failure { () throws(TransferError) in
        let part = try PartFile.create(for: folder("f"), overwrite: false)
        try part.write([1], at: 0)
        try part.publish(overwrite: false)
      }
    }
    #expect(error == nil)
    #expect(try folder.content("f") == [1])
  }

  @Test(
    "names up to the limit of 255 bytes are written through parts that fit",
    arguments: [4, 99, 100, 101, 200, 236, 237, 238, 239, 240, 254, 255]
  )
  func longNames(bytes: Int) throws {
    for character in ["n", "é", "€", "😀"] {
      let width = character.utf8.count
      let name =
        String(repeating: character, count: bytes / width)
        + String(repeating: "x", count: bytes % width)
      let part = try PartFile.create(for: folder(name), overwrite: false)
      #expect(ObjectReference.lastComponent(of: part.path).utf8.count <= 117)
      #expect(try folder.names().contains(ObjectReference.lastComponent(of: part.path)))
      try part.publish(overwrite: false, durable: false)
    }
    #expect(try folder.names().count == 4)
  }

  @Test("a name that starts with a combining mark is kept apart from the slash before it")
  func combiningMark() throws {
    try PartFile.create(for: folder("\u{301}x"), overwrite: false).publish(overwrite: false)
    #expect(try folder.names().map { Array($0.utf8) } == [Array("\u{301}x".utf8)])
  }

  @Test("reserved space does not show, and goes where it was not used")
  func preallocation() throws {
    let part = try PartFile.create(for: folder("f"), overwrite: false)
    try part.preallocate(8 << 20)
    try part.preallocate(0)
    #expect(try part.size() == 0)
    try part.write(noise(5000), at: 0)
    try part.publish(overwrite: false, durable: false)
    var status = stat()
    #expect(stat(folder("f"), &status) == 0)
    #expect(status.st_size == 5000)
    #expect(status.st_blocks * 512 <= 1 << 16)
  }

  @Test("a kept part goes on where it was")
  func reopened() throws {
    let path: String
    do {
      let part = try PartFile.create(for: folder("f"), overwrite: false)
      try part.write(Array("hello, junk".utf8), at: 0)
      let busy = failure { () throws(TransferError) in
        _ = try PartFile.reopen(part.path, for: folder("f"))
      }
      #expect(busy?.isRetryable == true)
      part.keep()
      path = part.path
    }
    // Killed after it was opened to others and before it had its name.
    let plain = open(folder("plain"), O_CREAT | O_WRONLY, 0o666)
    defer { close(plain) }
    #expect(chmod(path, mode(folder("plain"))) == 0)
    let part = try PartFile.reopen(path, for: folder("f"))
    #expect(mode(path) == 0o600)
    #expect(try part.size() == 11)
    try part.truncate(to: 7)
    try part.write(Array("world".utf8), at: 7)
    try part.publish(overwrite: false)
    #expect(try folder.text("f") == "hello, world")
  }

  @Test("a part that is gone or is not what was kept is not taken up")
  func notReopened() throws {
    let name = ".f.0123456789.part"
    func reopening(_ name: String, for target: String = "f") -> ErrorCode? {
      failure { () throws(TransferError) in
        _ = try PartFile.reopen(folder(name), for: folder(target))
      }?.code
    }
    #expect(reopening(name) == .fileNotFound)
    try folder.file("victim", "old")
    chmod(folder("victim"), 0o600)
    try folder.link(name, to: "victim")
    #expect(reopening(name) == .invalidFileObject)
    unlink(folder(name))
    try folder.file(name, "old")
    chmod(folder(name), 0o4640)
    #expect(reopening(name) == .invalidFileObject)
    chmod(folder(name), 0o600)
    #expect(link(folder(name), folder("second")) == 0)
    #expect(reopening(name) == .invalidFileObject)
    #expect(reopening("victim") == .invalidArgument)
    try folder.folder("sub")
    #expect(reopening(name, for: "sub/f") == .invalidArgument)
    #expect(try folder.text(name) == "old" && folder.text("victim") == "old")
  }

  private func creating(_ name: String, overwrite: Bool) -> TransferError? {
    failure { () throws(TransferError) in
      _ = try PartFile.create(for: folder(name), overwrite: overwrite)
    }
  }
}
