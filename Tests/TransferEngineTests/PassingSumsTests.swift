import Crypto
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct PassingSumsTests {
  private let sums = PassingSums(from: 0)

  /// Asks; returns once that is known, with what will be answered.
  private func ask(
    _ id: Int,
    _ part: Range<Int64>
  ) async -> Task<Result<CRC32C?, TransferError>, Never> {
    let (asked, tell) = AsyncStream.makeStream(of: Void.self)
    let task = Task { [sums] in
      await withCheckedContinuation { waiting in
        sums.ask(id, part, waiting)
        tell.finish()
      }
    }
    for await _ in asked {}
    return task
  }

  private func sum(_ byte: UInt8) -> CRC32C {
    var sum = CRC32C()
    sum.update([byte])
    return sum
  }

  private func begin(_ offset: Int64, _ end: Int64) -> [Int64] {
    let (next, isBeginning) = sums.begin(at: offset, upTo: end)
    return [next, isBeginning ? 1 : 0]
  }

  @Test("pieces end where parts do, and who is dropped in the middle holds up nobody")
  func pieces() async {
    let first = await ask(1, 0..<10)
    let second = await ask(2, 10..<20)
    #expect(begin(0, 4) == [4, 1])
    #expect(!sums.end(at: 4, sum(1)))
    sums.drop(1)
    guard case .failure(let error) = await first.value else {
      Issue.record("dropped, but answered")
      return
    }
    #expect(error.code == .cancelled)
    #expect(begin(4, 30) == [10, 0])
    #expect(sums.end(at: 10, sum(2)))
    #expect(begin(10, 30) == [20, 1])
    #expect(sums.end(at: 20, sum(3)))
    #expect(await second.value == .success(sum(3)))
  }

  @Test("parts that are behind, twice, too long or far ahead are for others")
  func elsewhere() async {
    #expect(begin(0, 10) == [10, 0])
    let mebibyte: Int64 = 1 << 20
    for part in [0..<4, 5..<20, 10..<80 * mebibyte, 70 * mebibyte..<71 * mebibyte] {
      #expect(await ask(1, part).value == .success(nil))
    }
    let first = await ask(2, 10..<20)
    #expect(await ask(3, 10..<20).value == .success(nil))
    // Of the second question nothing is left to drop.
    sums.drop(3)
    #expect(begin(10, 20) == [20, 1])
    #expect(sums.end(at: 20, sum(1)))
    #expect(await first.value == .success(sum(1)))
  }

  @Test("nobody waits for ever: neither within another's part, nor for a reader that stops")
  func missed() async {
    let outer = await ask(1, 0..<10)
    let inner = await ask(2, 5..<8)
    let later = await ask(3, 20..<30)
    #expect(begin(0, 40) == [10, 1])
    #expect(sums.end(at: 10, sum(1)))
    #expect(await outer.value == .success(sum(1)))
    #expect(await inner.value == .success(nil))
    sums.close()
    #expect(await later.value == .success(nil))
    #expect(await ask(4, 40..<50).value == .success(nil))
  }
}
