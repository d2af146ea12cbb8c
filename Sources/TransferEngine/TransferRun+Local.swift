internal import Backends
internal import LocalStore
internal import TransferModel

/// The steps on the embedded remote's disk.
extension TransferRun {
  func perform(_ operation: LocalOperation) async throws(TransferError) -> StepOutcome {
    let store = try remotes.local(spec.remote)
    switch operation {
    case .recover:
      guard let kept else { return .recovered(staging == nil ? .nothing : .staged) }
      let recovered = try await recover(kept)
      // Only now: a pause or a failure on the way must find it again.
      self.kept = nil
      return .recovered(recovered)
    case .stage:
      try await stage(in: store)
      return .staged
    case .fill:
      try await fill()
      return .filled
    case .publishObject(let reference, let settable, let condition):
      return try await publish(in: store, as: reference, settable, condition)
    case .publishFile(let channel, let name, let contentType):
      return try await publish(in: store, on: channel, name: name, contentType: contentType)
    case .announce(let announcement):
      return .announced(try await store.announce(announcement))
    case .openObject(let reference, let range):
      let (content, metadata) = try await store.openObject(reference)
      remoteName = reference.name
      try open(content, range: range)
      return .opened(metadata)
    case .openFile(let locator):
      let (content, file) = try await store.openFile(locator)
      remoteName = file.name
      try open(content, range: nil)
      return .opened(nil)
    case .deliver:
      return .delivered(try await deliver())
    }
  }
}

extension LocalOperation {
  /// Where a transfer stands while this is done; before `upload` and `download` nothing has moved.
  var phase: TransferError.Phase {
    switch self {
    case .recover, .stage, .openObject, .openFile: .prepare
    case .fill: .upload
    case .publishObject, .publishFile: .finish
    case .announce: .publish
    case .deliver: .download
    }
  }
}
