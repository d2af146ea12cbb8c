internal import Backends
internal import Dispatch
internal import Synchronization
package import TransferModel

extension Remotes {
  /// Asks a remote over HTTP whether it can be used from here, and waits for the answer, which is
  /// what is worth knowing of it, for people.
  ///
  /// For commands that do nothing else: it blocks its thread.
  ///
  /// - Throws: why it cannot be used.
  package func examine(_ name: String) throws(TransferError) -> String {
    guard case .http(let link) = try open(name) else { return "" }
    let answer = Answer()
    Task {
      let result = await Result(of: { () async throws(TransferError) in
        try await link.perform(link.remote.examine(nowMs: RemoteLink.nowMs))
      })
      answer.value.withLock { $0 = result }
      answer.isThere.signal()
    }
    answer.isThere.wait()
    return try answer.value.withLock { $0 }.get()
  }

  /// What one thread waits for and another brings.
  private final class Answer: Sendable {
    let isThere = DispatchSemaphore(value: 0)
    let value = Mutex<Result<String, TransferError>>(.success(""))
  }
}
