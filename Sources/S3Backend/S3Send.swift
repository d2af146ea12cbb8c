import Backends
import Configuration
import Crypto
import JSON
import TransferModel

/// Sends a file on a channel: stores it, then, unless that is left to later, writes the message that
/// announces it.
///
/// The names of both are chosen and kept before they are used, so that whatever happens in between
/// is repeated under the same name, and each comes about once.
struct S3Send: Backend {
  private let remote: S3Remote
  private let send: SendFile
  private var fileID: String
  private var token: String
  private var upload: S3Upload
  private var stage = Stage.name
  /// Whether anything of the file may be on the server.
  private var hasSent = false
  /// What is stored already.
  private var stored: SharedFile?
  /// What announces it.
  private var message: MessageKey?
  /// How often the message was not sent while it was fresh.
  private var delays = 0
  /// Whether nobody may look whether the message is there.
  private var isBlind = false

  private enum Stage: Sendable, Equatable {
    /// Keep what the file is called.
    case name
    case store
    /// Keep what the message is called.
    case rememberMessage
    case publish
    /// Find out whether a message whose answer was lost is there.
    case find
    case done(TransferResult)
    case failed(TransferError)
  }

  /// Begins with nothing asked.
  /// - Throws: what ferry knows that the server would refuse.
  init(
    _ remote: S3Remote,
    _ send: SendFile,
    fileID: String = RandomID.make(),
    token: String = RandomID.make()
  ) throws(TransferError) {
    self.remote = remote
    self.send = send
    self.fileID = fileID
    self.token = token
    upload = try Self.upload(remote, send, fileID, token)
    _ = try MessageBody.encode(send.announcement, SharedFile(id: fileID, name: send.name))
    _ = try remote.key(of: MessageKey(Timetoken(0)), channel: send.channel)
  }

  private static func upload(
    _ remote: S3Remote,
    _ send: SendFile,
    _ fileID: String,
    _ token: String
  ) throws(TransferError) -> S3Upload {
    let path = try remote.filePath(channel: send.channel, id: fileID, name: send.name)
    return try S3Upload(
      remote,
      UploadDestination(filePath: path, contentType: send.contentType),
      token: token
    )
  }

  var width: Int { stage == .store ? upload.width : 1 }

  var settled: Int64 { stored?.size ?? upload.settled }

  var unannounced: SharedFile? {
    if case .done = stage { nil } else { stored }
  }

  /// A message that may have been written is withdrawn with its file.
  var cleanUp: [HTTPRequest] {
    if stored == nil {
      guard hasSent else { return [] }
      return upload.cleanUp + delete(try? fileKey)
    }
    if case .done = stage { return [] }
    return delete(message.flatMap { try? remote.key(of: $0, channel: send.channel) })
  }

  private func delete(_ key: String?) -> [HTTPRequest] {
    key.map { [remote.request(.delete, $0)] } ?? []
  }

  private var fileKey: String {
    get throws(TransferError) {
      try remote.key(remote.filePath(channel: send.channel, id: fileID, name: send.name))
    }
  }

  mutating func next() -> BackendStep {
    do throws(TransferError) {
      switch stage {
      case .name, .rememberMessage: return .content(.remember)
      case .store: return try nextOfUpload()
      case .publish:
        return .http(HTTPExchange(try publication(), phase: .publish, tellsFailure: true))
      case .find:
        return .http(HTTPExchange(remote.request(.head, try messageKey()), phase: .publish))
      case .done(let result): return .done(result)
      case .failed(let error): return .fail(error)
      }
    } catch {
      return .fail(error.during(.publish))
    }
  }

  private mutating func nextOfUpload() throws(TransferError) -> BackendStep {
    let step = upload.next()
    switch step {
    case .http: hasSent = true
    case .done(.stored(let object)):
      stored = SharedFile(
        id: fileID,
        name: send.name,
        size: object.metadata.size,
        contentType: send.contentType,
        sha256: object.metadata.sha256
      )
      message = remote.messageKey(for: send.announcement)
      stage = .rememberMessage
      return .content(.remember)
    case .local, .content, .idle, .done, .fail: break
    }
    return step
  }

  private func messageKey() throws(TransferError) -> String {
    guard let message else { preconditionFailure("a message without a name") }
    return try remote.key(of: message, channel: send.channel)
  }

  private func publication() throws(TransferError) -> HTTPRequest {
    guard let message, let stored else { preconditionFailure("announced before it was stored") }
    let body = try MessageBody.encode(send.announcement, stored)
    var request = try remote.put(message, body, channel: send.channel)
    // Under a new name it could be there twice.
    if isBlind { request.latestMs = nil }
    return request
  }

  mutating func receive(_ outcome: StepOutcome) {
    switch (stage, outcome) {
    case (.store, _): upload.receive(outcome)
    case (.name, .remembered): stage = .store
    case (.rememberMessage, .remembered):
      if send.announces { stage = .publish } else { finish() }
    case (.publish, .answered(_, let response)):
      if let fault = S3Fault(response) {
        let error = remote.error(fault, "announce \"\(send.name)\" in")
        stage = .failed(error.during(.publish))
      } else {
        finish()
      }
    case (.publish, .failed(_, let error)):
      // As often as a request is sent again; a pause alone makes it late once.
      guard error == S3Remote.tooLate, delays < max(1, remote.settings.http.retries) else {
        stage = .failed(error.during(.publish))
        return
      }
      delays += 1
      stage = .find
    case (.find, .answered(_, let response)): found(response)
    case (.publish, .interrupted): stage = .find
    case (.find, .interrupted): break
    default: preconditionFailure("\(outcome.name) does not follow")
    }
  }

  private mutating func found(_ response: HTTPResponse) {
    guard let fault = S3Fault(response) else { return finish() }
    guard fault.isNotFound, let message else {
      // Who may not look writes it again, which changes nothing where it is there.
      isBlind = true
      return stage = .publish
    }
    let age = remote.serverNowMs - message.timetoken.value / 10_000
    // Subscribers would not look for what is older.
    if age > remote.freshMs { self.message = remote.messageKey(for: send.announcement) }
    stage = age > remote.freshMs ? .rememberMessage : .publish
  }

  private mutating func finish() {
    guard let stored, let message else { preconditionFailure("done before it was stored") }
    stage = .done(
      .shared(
        .init(
          channel: send.channel,
          file: stored,
          timetoken: send.announces ? message.timetoken : nil,
          url: try? remote.fileURL(channel: send.channel, stored)
        )
      )
    )
  }

  mutating func restart() {
    if case .done = stage { return }
    delays = 0
    isBlind = false
    if stored == nil {
      upload.restart()
      stage = .name
    } else {
      stage = afterStored
    }
  }

  private var afterStored: Stage { send.announces ? .find : .rememberMessage }
}

/// What outlives the process: the names, and how far the file is.
extension S3Send {
  var checkpoint: [UInt8]? {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("id", fileID)
    writer.field("token", token)
    if let stored, let message {
      writer.field("size", stored.size)
      writer.field("sha256", stored.sha256)
      writer.field("message", message.name)
    } else {
      writer.field("upload", upload.checkpoint.map { String(decoding: $0, as: UTF8.self) })
    }
    writer.endObject()
    return writer.take()
  }

  mutating func recover(_ checkpoint: [UInt8]?) {
    guard let checkpoint else { return }
    do {
      var fields = try JSONFields(JSONNode(parsing: checkpoint))
      let id = try fields.string("id")
      let token = try fields.string("token")
      var upload = try Self.upload(remote, send, id, token)
      if let name = try fields.optionalString("message"), let message = MessageKey(name) {
        stored = SharedFile(
          id: id,
          name: send.name,
          size: try fields.int("size"),
          contentType: send.contentType,
          sha256: try fields.optionalString("sha256")
        )
        self.message = message
        stage = afterStored
      } else {
        // What was sent is sent again under the same name, or withdrawn by it.
        upload.recover(try fields.optionalString("upload").map { Array($0.utf8) })
        hasSent = true
        stage = .store
      }
      fileID = id
      self.token = token
      self.upload = upload
    } catch {
      // Nothing of ours: it begins anew.
    }
  }
}
