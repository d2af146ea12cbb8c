import Glibc
import Synchronization
import Testing
import TransferModel

@testable import LocalFiles

@Suite struct RootsTests {
  let folder: TemporaryFolder

  // inside/{file, out -> ../outside, out-file -> ../outside/secret, in -> file}, outside/secret,
  // insider/file (a sibling whose name starts as the root's), alias -> inside
  init() throws {
    folder = try TemporaryFolder()
    for name in ["inside", "inside/sub", "outside", "insider"] { try folder.folder(name) }
    try folder.file("inside/file", "inside")
    try folder.file("outside/secret", "outside")
    try folder.file("insider/file", "outside")
    try folder.link("inside/out", to: "../outside")
    try folder.link("inside/out-file", to: "../outside/secret")
    try folder.link("inside/in", to: "file")
    try folder.link("inside/absolute", to: folder("outside/secret"))
    try folder.link("inside/dangling", to: "../outside/missing")
    try folder.link("alias", to: "inside")
  }

  @Test("no roots: anywhere")
  func anywhere() throws {
    try Roots.anywhere.check("/etc/passwd")
    #expect(try Roots([]) == .anywhere)
  }

  @Test(
    "what lies in a root after links is allowed",
    arguments: [
      "inside/file", "inside/in", "inside/sub/../file", "alias/file", "outside/../inside/file",
      "inside/./file", "inside//file", "inside/new/file", "inside/out/../inside/file", "inside",
    ]
  )
  func allowed(name: String) throws {
    try Roots([folder("inside")]).check(folder(name))
    try Roots(["/nowhere", folder("alias") + "/"]).check(folder(name))
  }

  @Test(
    "what leads out is denied, also where nothing is there",
    arguments: [
      "outside/secret", "inside/out/secret", "inside/out-file", "inside/absolute", "insider/file",
      "inside/../outside/secret", "inside/out/missing", "inside/sub/../../outside/secret",
      "outside/missing/deep", "inside/missing/../../outside/secret", "", "inside/out",
      "inside/dangling", "inside/dangling/x", "inside/out-file/",
    ]
  )
  func denied(name: String) throws {
    let roots = try Roots([folder("inside")])
    for call in [
      failure { () throws(TransferError) in try roots.check(folder(name)) },
      failure { () throws(TransferError) in
        _ = try SourceFile.open(folder(name), within: roots)
      },
      failure { () throws(TransferError) in
        _ = try PartFile.create(for: folder(name) + "/x", overwrite: true, within: roots)
      },
    ] {
      #expect(call?.code == .fileAccessDenied, "\(call?.message ?? "allowed")")
      #expect(call?.message.contains(folder("inside")) == true)
    }
  }

  @Test("a root that does not exist holds nothing, and a relative one is a wrong configuration")
  func strangeRoots() throws {
    let missing = try Roots([folder("missing")])
    #expect(
      failure { () throws(TransferError) in try missing.check(folder("inside/file")) }?.code
        == .fileAccessDenied
    )
    for root in ["relative", "", "~/files", "/nul\0"] {
      #expect(failure { () throws(TransferError) in _ = try Roots([root]) }?.code == .config)
    }
  }

  @Test("the root of all roots holds everything")
  func slash() throws {
    try Roots(["/"]).check("/etc/passwd")
    try Roots(["/"]).check("/not/there")
  }

  @Test("a link swapped while files are opened through it never lets one outside be read")
  func swappedSource() throws {
    try swapping("swap", between: "inside/sub", and: "outside") {
      try folder.file("inside/sub/secret", "inside")
      let roots = try Roots([folder("inside")])
      var opened = 0
      var refused = 0
      while opened < 300 || refused < 300 {
        do throws(TransferError) {
          let source = try SourceFile.open(folder("swap/secret"), within: roots)
          var content = [UInt8](repeating: 0, count: Int(source.size))
          #expect(pread(source.number, &content, content.count, 0) == content.count)
          #expect(content.elementsEqual("inside".utf8))
          opened += 1
        } catch {
          #expect(error.code == .fileAccessDenied)
          refused += 1
        }
      }
    }
  }

  @Test("a folder swapped while files are written through it never gets one put outside")
  func swappedTarget() throws {
    try swapping("swap", between: "inside/sub", and: "outside") {
      let roots = try Roots([folder("inside")])
      var written = 0
      var refused = 0
      while written < 200 || refused < 200 {
        do throws(TransferError) {
          let part = try PartFile.create(for: folder("swap/new"), overwrite: true, within: roots)
          try part.write([1], at: 0)
          try part.publish(overwrite: true, durable: false)
          written += 1
        } catch {
          #expect(error.code == .fileAccessDenied)
          refused += 1
        }
      }
    }
    #expect(access(folder("outside/new"), F_OK) != 0)
    #expect(access(folder("inside/sub/new"), F_OK) == 0)
  }

  /// Swaps a link between two targets on a thread of its own for as long as `body` runs.
  private func swapping(
    _ name: String,
    between first: String,
    and second: String,
    _ body: () throws -> Void
  ) throws {
    let job = SwapJob(link: folder(name), targets: [folder(first), folder(second)])
    var thread = pthread_t()
    let context = Unmanaged.passRetained(job)
    let status = pthread_create(
      &thread,
      nil,
      { context in
        guard let context else { return nil }
        Unmanaged<SwapJob>.fromOpaque(context).takeRetainedValue().run()
        return nil
      },
      context.toOpaque()
    )
    #expect(status == 0)
    defer {
      job.isDone.store(true, ordering: .relaxed)
      pthread_join(thread, nil)
    }
    while access(folder(name), F_OK) != 0 { sched_yield() }
    try body()
  }
}

/// Replaces a link by another, again and again, always in one step.
private final class SwapJob: Sendable {
  let link: String
  let targets: [String]
  let isDone = Atomic<Bool>(false)

  init(link: String, targets: [String]) {
    self.link = link
    self.targets = targets
  }

  func run() {
    while !isDone.load(ordering: .relaxed) {
      for target in targets {
        unlink(link + ".next")
        symlink(target, link + ".next")
        rename(link + ".next", link)
      }
    }
  }
}
