package import Backends
internal import Configuration
internal import JSON
package import TransferModel

/// Whether PubNub answers.
extension PubNubRemote {
  package func examine(nowMs: Int64) throws(TransferError) -> RemoteCall<String> {
    let request = HTTPRequest(.get, origin: settings.origin, path: "/time/0")
    return .ask(request) { response throws(TransferError) in
      let node = try self.json(response, doing: "tell the time")
      guard let time = (try? node.elements())?.first.flatMap({ try? $0.int() }) else {
        throw Self.noTime
      }
      let offset = time / 10_000 - nowMs
      guard abs(offset) > Self.toleratedSkewMs else { return .done("answers (keys are not tried)") }
      let direction = offset > 0 ? "ahead of" : "behind"
      return .done(
        "answers (keys are not tried); its clock is \(abs(offset) / 1000) s \(direction) this machine's"
      )
    }
  }

  private static let noTime = TransferError(
    .server,
    "PubNub's answer tells no time; something between may have answered in its place. Check origin "
      + "and proxy."
  )
}
