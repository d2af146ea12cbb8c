internal import Backends
internal import Glibc
internal import LocalFiles
internal import LocalStore
internal import TransferModel

/// What a run leaves: something for a later process to go on with, or nothing.
extension TransferRun {
  /// Writes the backend's checkpoint down.
  func keepCheckpoint(awaited: Bool = true) async {
    inHand.checkpoint = backend.checkpoint
    await remember(awaited: awaited)
  }

  /// Leaves nothing behind, here or on the remote; of a file that is stored and was not announced
  /// nothing but the file, unless that goes `withFile`.
  ///
  /// - Returns: false where `remains` are still there.
  func abandon(withFile: Bool = true) async -> Bool {
    await takeUpKept()
    drop()
    let isClean = await cleanUp()
    guard withFile, let file = backend.unannounced, let channel = spec.channel else {
      return isClean
    }
    do throws(TransferError) {
      switch try remotes.open(spec.remote) {
      case .local(let store):
        try await store.deleteFile(channel: channel, id: file.id, name: file.name)
      case .http(let link):
        try await link.perform(
          link.remote.deleteFile(channel: channel, id: file.id, name: file.name)
        )
      }
    } catch {
      // Gone already, or out of reach: a file that nobody was told of harms nobody.
    }
    return isClean
  }

  /// Leaves what a later process can go on with.
  func suspend() {
    staging?.keep()
    // An upload's is what a host had brought of a stream, which it brings again.
    if spec.direction == .download { part?.keep() }
    staging = nil
    part = nil
    drop()
  }

  /// Opens what an earlier process left, so that it can be thrown away.
  private func takeUpKept() async {
    guard let kept else { return }
    self.kept = nil
    do throws(TransferError) {
      if spec.target == .temporary, let target = kept.target { unlink(target) }
      if let path = kept.part, let target = kept.target {
        part = try PartFile.reopen(path, for: target)
      }
      guard let id = kept.staging else { return }
      let store = try remotes.local(spec.remote)
      switch try await store.recover(id) {
      case .file(let file, nil):
        let url = store.url(content: id)
        backend.receive(.recovered(.filePublished(file, url: url, announced: nil)))
      case .file, .object: break
      case .nothing: staging = try store.reopen(id)
      }
    } catch {
      // What cannot be opened any more is not there.
    }
  }

  /// Removes what is half-made on the remote, at one attempt, for the host waits for it; false where
  /// it may still be there.
  @discardableResult
  func cleanUp() async -> Bool {
    var isClean = !isOutOfReach
    for var request in backend.cleanUp {
      request.answerTimeout = .seconds(5)
      do throws(TransferError) {
        let response = try await link().send(request, ExchangeBytes(), retries: 0)
        // Gone is what it should be, whoever did it.
        isClean = isClean && (response.isSuccess || response.status == 404)
      } catch {
        isClean = false
      }
    }
    return isClean
  }

  /// What a later process needs to remove what is half-made on the remote; nil where nothing is.
  var remains: RunState? {
    if backend.cleanUp.isEmpty, !isOutOfReach { return nil }
    var remains = RunState(root: spec.root)
    remains.checkpoint = backend.checkpoint
    return remains
  }

  /// Whether an earlier process left something on a remote that cannot be opened now.
  private var isOutOfReach: Bool {
    backend is RefusedTransfer && backend.checkpoint != nil && spec.direction == .upload
  }

  /// Lets go of everything in hand; unpublished files are removed.
  func drop() {
    source = nil
    heldSource = nil
    wholeSum = nil
    staging?.discard()
    staging = nil
    content = nil
    part?.discard()
    part = nil
    collected = []
    pending = nil
    offset = 0
    hasher = nil
    following?.cancel()
    following = nil
    incoming = nil
    decryptor = nil
  }
}
