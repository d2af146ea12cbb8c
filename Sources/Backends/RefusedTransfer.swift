package import TransferModel

/// A transfer that its remote does not take.
package struct RefusedTransfer: Backend {
  private let error: TransferError
  /// What an earlier process had on the remote.
  package private(set) var checkpoint: [UInt8]?

  /// Refuses with an error, which is placed before the first byte.
  package init(_ error: TransferError) { self.error = error.during(.prepare) }

  /// None.
  package var settled: Int64 { 0 }

  package mutating func next() -> BackendStep { .fail(error) }

  package mutating func receive(_ outcome: StepOutcome) {
    preconditionFailure("\(outcome.name) cannot follow a refusal")
  }

  package mutating func restart() {}

  package mutating func recover(_ checkpoint: [UInt8]?) { self.checkpoint = checkpoint }
}
