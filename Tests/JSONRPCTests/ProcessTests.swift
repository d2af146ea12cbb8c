import Glibc
import JSONRPC
import Synchronization
import Testing

@Suite struct `Standard streams, signals and parents` {
  @Test func `the private descriptors carry the protocol, and print goes to stderr`() async throws {
    let result = try await #require(
      processExitsWith: .success,
      observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      let streams = StandardStreams.takeOver()
      guard streams.input > 2, streams.output > 2, streams.input != streams.output else { exit(3) }
      print("stray")
      fflush(nil)
      var byte: UInt8 = 0
      guard read(0, &byte, 1) == 0 else { exit(4) }
      let line = "protocol\n"
      write(streams.output, line, line.utf8.count)
      exit(0)
    }
    let output = String(decoding: result.standardOutputContent, as: UTF8.self)
    let error = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(output.contains("protocol") && !output.contains("stray"))
    #expect(error.contains("stray"))
  }

  @Test func `streams closed at the start are an empty input and a lost output`() async {
    await #expect(processExitsWith: .success) {
      close(0)
      close(1)
      close(2)
      let streams = StandardStreams.takeOver()
      var byte: UInt8 = 0
      guard read(streams.input, &byte, 1) == 0, streams.output == -1 else { exit(3) }
      // Writing to what was stderr and stdout must not hit a descriptor of someone else.
      guard write(2, &byte, 1) == 1, write(1, &byte, 1) == 1 else { exit(4) }
      exit(0)
    }
  }

  @Test func `writing to a closed pipe is an error, not the end`() async {
    await #expect(processExitsWith: .success) {
      _ = StandardStreams.takeOver()
      var ends: [Int32] = [-1, -1]
      pipe(&ends)
      close(ends[0])
      var byte: UInt8 = 0
      exit(write(ends[1], &byte, 1) == -1 && errno == EPIPE ? 0 : 3)
    }
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
  func `the first signal is a call`(_ signal: Int32) async {
    await #expect(processExitsWith: .exitCode(42)) { [signal] in
      SignalWatch.start { caught in exit(caught == signal ? 42 : 3) }
      kill(getpid(), signal)
      while true { pause() }
    }
  }

  @Test func `the second signal ends the process, whatever it does`() async {
    await #expect(processExitsWith: .exitCode(128 + SIGINT)) {
      var ends: [Int32] = [-1, -1]
      pipe(&ends)
      let told = ends[1]
      SignalWatch.start { _ in
        var byte: UInt8 = 1
        write(told, &byte, 1)
        while true { pause() }
      }
      kill(getpid(), SIGTERM)
      var byte: UInt8 = 0
      read(ends[0], &byte, 1)
      kill(getpid(), SIGINT)
      while true { pause() }
    }
  }

  @Test func `a reader that is gone is seen on pipes and sockets, one that is slow is not`() {
    let pipe = makePipe()
    #expect(!PeerWatch.outputReaderGone(pipe.write))
    close(pipe.read)
    #expect(PeerWatch.outputReaderGone(pipe.write))
    close(pipe.write)
    var ends: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    let full = [UInt8](repeating: 0, count: 1 << 20)
    #expect(send(ends[1], full, full.count, Int32(MSG_DONTWAIT)) > 0)
    #expect(!PeerWatch.outputReaderGone(ends[1]))
    close(ends[0])
    #expect(PeerWatch.outputReaderGone(ends[1]))
    close(ends[1])
    #expect(PeerWatch.outputReaderGone(-1))
  }

  @Test func `a watched process that ends is noticed`() async throws {
    let sleeper = try spawn("/bin/sleep", "600")
    let events = AsyncStream<ParentWatch.Event>.makeStream()
    let watch = ParentWatch(processID: sleeper, every: .milliseconds(5)) {
      events.continuation.yield($0)
    }
    kill(sleeper, SIGKILL)
    waitpid(sleeper, nil, 0)
    var iterator = events.stream.makeAsyncIterator()
    #expect(await iterator.next() == .processGone)
    watch.stop()
  }

  @Test func `a process that cannot be seen at the start is ignored`() async throws {
    let gone = try spawn("/bin/true")
    waitpid(gone, nil, 0)
    let living = try spawn("/bin/sleep", "600")
    let events = AsyncStream<String>.makeStream()
    let blind = ParentWatch(processID: gone, every: .milliseconds(1)) { _ in
      events.continuation.yield("blind")
    }
    let watch = ParentWatch(processID: living, every: .milliseconds(100)) { _ in
      events.continuation.yield("living")
    }
    kill(living, SIGKILL)
    waitpid(living, nil, 0)
    var iterator = events.stream.makeAsyncIterator()
    // A hundred looks of the blind one have passed by then.
    #expect(await iterator.next() == "living")
    blind.stop()
    watch.stop()
  }

  private func spawn(_ path: String, _ arguments: String...) throws -> pid_t {
    var process: pid_t = 0
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    let status = descriptors.withLock { _ in
      posix_spawn(&process, path, nil, nil, &words, environ)
    }
    try #require(status == 0)
    return process
  }
}
