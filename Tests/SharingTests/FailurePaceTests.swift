import Testing
import TransferModel

@testable import Sharing

@Suite("The pace after failures")
struct FailurePaceTests {
  private static func failure(
    mayHaveArrived: Bool? = nil,
    retryAfterMs: Int64? = nil
  ) -> TransferError {
    var error = TransferError(.network, "cut")
    error.mayHaveArrived = mayHaveArrived
    error.retryAfterMs = retryAfterMs
    return error
  }

  @Test("Pauses double up to half a minute, and begin anew")
  func doubling() {
    var pace = FailurePace()
    let most = (0..<8).map { _ in pace.failed(Self.failure(), after: .seconds(1)).upperBound }
    #expect(most == [0.5, 1, 2, 4, 8, 16, 16, 16])
    pace.reset()
    #expect(pace.failed(Self.failure(), after: .seconds(1)) == 0.25...0.5)
  }

  @Test("Questions that are cut after they were held, again and again, are asked at once again")
  func held() {
    var pace = FailurePace()
    for _ in 0..<100 {
      #expect(pace.failed(Self.failure(), after: .seconds(60)) == 0.25...0.5)
    }
    // One that never arrived was not held, however long it was tried.
    var unreachable = FailurePace()
    for _ in 0..<3 {
      _ = unreachable.failed(Self.failure(mayHaveArrived: false), after: .seconds(60))
    }
    let next = unreachable.failed(Self.failure(mayHaveArrived: false), after: .seconds(60))
    #expect(next == 2...4)
  }

  @Test("A remote that asks for a longer pause gets it")
  func asked() {
    var pace = FailurePace()
    #expect(pace.failed(Self.failure(retryAfterMs: 3000), after: .seconds(1)) == 3...3)
  }
}
