package import TransferModel

/// A download from the embedded remote: open, deliver.
package struct LocalDownload: Backend {
  private let open: LocalOperation
  private var state = State.toOpen

  private enum State: Sendable {
    case toOpen
    case toDeliver(ObjectMetadata?)
    case done(TransferResult)
  }

  /// Fetches an object.
  package init(_ get: GetObject) { open = .openObject(get.reference, get.range) }

  /// Fetches a file of a channel.
  package init(_ download: DownloadFile) {
    open = .openFile(download.locator)
  }

  /// None: nothing is moved by exchanges.
  package var settled: Int64 { 0 }

  package mutating func next() -> BackendStep {
    switch state {
    case .toOpen: .local(open)
    case .toDeliver: .local(.deliver)
    case .done(let result): .done(result)
    }
  }

  package mutating func receive(_ outcome: StepOutcome) {
    switch (state, outcome) {
    case (.toOpen, .opened(let metadata)):
      state = .toDeliver(metadata)
    case (.toDeliver(let metadata), .delivered(var download)):
      download.metadata = metadata
      state = .done(.downloaded(download))
    case (.toOpen, _), (.toDeliver, _), (.done, _):
      preconditionFailure("\(outcome.name) cannot follow")
    }
  }

  package mutating func restart() { state = .toOpen }

  /// Nothing to ask: the content is opened again, and the part tells how far it is.
  package mutating func recover(_ checkpoint: [UInt8]?) { restart() }
}
