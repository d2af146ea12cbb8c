package import Backends
package import TransferModel

/// Whether the bucket can be used.
extension S3Remote {
  package func examine(nowMs: Int64) throws(TransferError) -> RemoteCall<String> {
    let list = try listing(below: "", delimiter: "/", limit: 1, next: nil)
    return .ask(probe) { response throws(TransferError) in
      guard S3Fault(response) != nil else { return .done(self.finding) }
      // Answers to HEAD have no words: a list says why, or that the key may do this at least.
      return .ask(list) { response throws(TransferError) in
        if let fault = S3Fault(response) { throw self.error(fault, "look into") }
        return .done(self.finding)
      }
    }
  }

  /// What the answer has told.
  private var finding: String {
    let server = provider.map { " (\($0.title))" } ?? ""
    let offset = clockOffset / 1000
    guard offset != 0 else { return "answers\(server)" }
    let direction = offset > 0 ? "ahead of" : "behind"
    return
      "answers\(server); its clock is \(abs(offset)) s \(direction) this machine's, and is used"
  }
}
