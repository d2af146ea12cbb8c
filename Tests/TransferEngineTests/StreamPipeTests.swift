import Synchronization
import Testing
import TransferModel

@testable import TransferEngine

@Suite("Bytes between the host and a transfer")
struct StreamPipeTests {
  /// What was told, in order.
  final class Told: Sendable {
    let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }

    func taken(_ name: String) -> StreamPipe.Taken {
      { self.add("\(name) \($0?.code.rawValue ?? "taken")") }
    }

    func received(_ name: String) -> StreamPipe.Received {
      { result in
        switch result {
        case .success(let bytes): self.add("\(name) \(bytes.map { "\($0)" } ?? "end")")
        case .failure(let error): self.add("\(name) \(error.code.rawValue)")
        }
      }
    }
  }

  @Test("A piece is taken once it was read whole")
  func backPressure() {
    let pipe = StreamPipe()
    let told = Told()
    pipe.write([1, 2, 3], taken: told.taken("w"))
    #expect(told.all == [])
    pipe.read(upTo: 2, received: told.received("r1"))
    #expect(told.all == ["r1 [1, 2]"])
    pipe.read(upTo: 2, received: told.received("r2"))
    #expect(told.all == ["r1 [1, 2]", "r2 [3]", "w taken"])
  }

  @Test("Both sides are served in the order of their calls")
  func order() {
    let pipe = StreamPipe()
    let told = Told()
    pipe.read(upTo: 9, received: told.received("r1"))
    pipe.read(upTo: 9, received: told.received("r2"))
    pipe.write([1], taken: told.taken("w1"))
    pipe.write([2], taken: told.taken("w2"))
    #expect(told.all == ["r1 [1]", "w1 taken", "r2 [2]", "w2 taken"])
  }

  @Test("After the end comes the end, and a write is refused")
  func finish() {
    let pipe = StreamPipe()
    let told = Told()
    pipe.write([1], taken: told.taken("w1"))
    pipe.finish()
    pipe.read(upTo: 9, received: told.received("r1"))
    pipe.read(upTo: 9, received: told.received("r2"))
    pipe.write([2], taken: told.taken("w2"))
    #expect(
      told.all == ["r1 [1]", "w1 taken", "r2 end", "w2 ERR_INVALID_ARGUMENT"]
    )
  }

  @Test("A failure reaches everyone who waits and everyone who comes")
  func failure() {
    let pipe = StreamPipe()
    let told = Told()
    pipe.write([1], taken: told.taken("w1"))
    pipe.fail(TransferError(.diskFull, "full"))
    pipe.fail(TransferError(.network, "later"))
    pipe.write([2], taken: told.taken("w2"))
    pipe.read(upTo: 9, received: told.received("r1"))
    #expect(told.all == ["w1 ERR_DISK_FULL", "w2 ERR_DISK_FULL", "r1 ERR_DISK_FULL"])
  }

  @Test("A host that writes without awaiting ends the stream rather than leave a hole")
  func heldLimit() {
    let pipe = StreamPipe()
    let told = Told()
    let piece = [UInt8](repeating: 7, count: StreamPipe.heldLimit)
    pipe.write(piece, taken: told.taken("w1"))
    pipe.write([1], taken: told.taken("w2"))
    #expect(told.all == ["w2 ERR_OVERLOADED", "w1 ERR_OVERLOADED"])
  }

  @Test("A call that stops waiting loses nothing")
  func stopWaiting() {
    let pipe = StreamPipe()
    let told = Told()
    let reader = pipe.read(upTo: 9, received: told.received("r1"))
    pipe.stopWaiting(reader)
    pipe.stopWaiting(reader)
    let writer = pipe.write([1], taken: told.taken("w1"))
    pipe.stopWaiting(writer)
    pipe.read(upTo: 9, received: told.received("r2"))
    #expect(told.all == ["r1 ERR_CANCELLED", "w1 taken", "r2 [1]"])
  }

  @Test("A cancelled task stops waiting, before or after it began")
  func cancelledTask() async {
    let pipe = StreamPipe()
    let waiting = Task { () -> ErrorCode? in
      do throws(TransferError) {
        _ = try await pipe.take(upTo: 1)
        return nil
      } catch {
        return error.code
      }
    }
    waiting.cancel()
    #expect(await waiting.value == .cancelled)
    pipe.write([1]) { _ in }
    pipe.finish()
    #expect(await (try? pipe.take(upTo: 9)) == [1])
  }
}
