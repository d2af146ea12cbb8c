internal import Backends
internal import Configuration
internal import JSON
internal import TransferModel

/// How a download finds a file of PubNub: the message that names it, where only that is known, then
/// PubNub's redirect to its storage.
struct PubNubPlace: DownloadPlace {
  let remote: PubNubRemote
  var place: PubNubRemote.Place
  let cipherKey: Secret?

  var question: HTTPRequest? {
    switch place {
    case .message(let channel, let timetoken):
      remote.messageRequest(channel: channel, timetoken: timetoken)
    case .file(let channel, let id, let name):
      remote.contentRequest(channel: channel, id: id, name: name)
    }
  }

  var address: HTTPURL? { nil }

  var name: String {
    if case .file(_, _, let name) = place { name } else { "" }
  }

  mutating func take(_ response: HTTPResponse) throws(TransferError) -> HTTPURL? {
    guard case .message(let channel, let timetoken) = place else {
      guard [301, 302, 303, 307, 308].contains(response.status) else {
        throw response.isSuccess
          ? TransferError(.server, "PubNub answered without saying where the file is; try again.")
          : remote.error(response, doing: "say where the file is")
      }
      return try HTTPURL(redirect: response, from: remote.settings.origin)
    }
    let message = try remote.message(
      response,
      channel: channel,
      timetoken: timetoken,
      cipher: remote.cipher(cipherKey)
    )
    guard let file = message.file else {
      throw message.error
        ?? TransferError(
          .notFound,
          "The message of \(timetoken) on channel \"\(channel)\" announces no file."
        )
    }
    place = .file(channel: channel, id: file.id, name: file.name)
    return nil
  }

  func error(_ response: HTTPResponse) -> TransferError {
    remote.error(response, doing: "give the file")
  }

  func isExpired(_ error: TransferError) -> Bool {
    error.httpStatus == 403 && error.serverMessage?.contains("expired") == true
  }

  func write(to writer: inout JSONWriter) {
    guard case .file(let channel, let id, let name) = place else { return }
    writer.field("channel", channel)
    writer.field("id", id)
    writer.field("name", name)
  }

  func restored(from members: Members) -> PubNubPlace? {
    guard let channel = members.string("channel"), let id = members.string("id"),
      let name = members.string("name")
    else { return nil }
    var copy = self
    copy.place = .file(channel: channel, id: id, name: name)
    return copy
  }
}
