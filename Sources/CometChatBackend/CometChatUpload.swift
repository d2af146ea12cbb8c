internal import Backends
internal import JSON
internal import TransferModel

/// Stores a file for a conversation: a place in the storage, the form with the bytes and, unless that
/// is left to later, the message that shows it.
struct CometChatUpload: Backend {
  private let send: SendFile
  private let conversation: Conversation
  private let remote: CometChatRemote
  /// Names the file in the question for a place.
  private let fileID: String
  private var stage = Stage.open
  private var size: Int64 = 0
  private var sha256: String?
  /// Places that were asked for.
  private var slots = 0
  /// What is stored and perhaps not the file that was opened.
  private var spoilt: Attachment?
  /// What is stored, to be shown.
  private var stored: Attachment?
  private var attempts = PublishAttempts(limit: Self.maxMessages)

  private enum Stage {
    case open, slot
    case upload(UploadSlot)
    case verify, remember
    /// Find out whether a message whose answer was lost has come about.
    /// In a page of the conversation, the first one or what is older than a message.
    case find(before: Timetoken? = nil, page: Int = 1)
    case publish
    case done(Timetoken?)
    case failed(TransferError)
  }

  /// A place that expired on the way is asked for again so often.
  private static let maxSlots = 3
  /// How often the message is sent in all.
  private static let maxMessages = 5

  init(
    _ send: SendFile,
    to conversation: Conversation,
    fileID: String,
    remote: CometChatRemote
  ) {
    self.send = send
    self.conversation = conversation
    self.fileID = fileID
    self.remote = remote
  }

  mutating func next() -> BackendStep {
    switch stage {
    case .open:
      return .content(.openSource)
    case .slot:
      slots += 1
      let request = remote.slotRequest(send, to: conversation, fileID: fileID, size: size)
      return .http(HTTPExchange(request, phase: .prepare, tellsFailure: true))
    case .upload(let slot):
      return .http(
        HTTPExchange(slot.request(size: size, type: send.contentType), phase: .upload)
      )
    case .verify:
      return .content(.verifySource)
    case .remember:
      return .content(.remember)
    case .find(let oldest, _):
      do throws(TransferError) {
        let request = try remote.lookRequest(for: asked, before: oldest)
        return .http(HTTPExchange(request, phase: .publish, tellsFailure: true))
      } catch {
        return .fail(error.during(.publish))
      }
    case .publish:
      return publish()
    case .done(let timetoken):
      guard let stored else { preconditionFailure("done before it was stored") }
      return .done(
        .shared(
          .init(
            channel: send.channel,
            file: stored.file,
            timetoken: timetoken,
            url: stored.url
          )
        )
      )
    case .failed(let error):
      return .fail(error)
    }
  }

  private mutating func publish() -> BackendStep {
    do throws(TransferError) {
      let request = try remote.request(for: message())
      let delay = attempts.begin()
      return .http(HTTPExchange(request, phase: .publish, delay: delay, tellsFailure: true))
    } catch {
      return .fail(error.during(.publish))
    }
  }

  private func message() throws(TransferError) -> MediaMessage {
    guard let stored else { preconditionFailure("shown before it was stored") }
    return try remote.message(showing: stored, send)
  }

  private var asked: AskedMessage {
    get throws(TransferError) {
      let message = try message()
      return AskedMessage(
        channel: message.channel,
        fileIDs: message.attachments.map(\.file.id),
        muid: CometChatRemote.muid(of: message),
        parent: message.parent,
        askedMs: 0
      )
    }
  }

  mutating func receive(_ outcome: StepOutcome) {
    switch (outcome, stage) {
    case (.sourceOpened(let content), .open): opened(content)
    case (.answered(_, let response), .slot): slotAnswered(response)
    case (.failed(_, let error), .slot): slotFailed(error)
    case (.answered(_, let response), .upload(let slot)): uploadAnswered(response, slot)
    case (.sourceVerified, .verify):
      stored = spoilt
      spoilt = nil
      stage = .remember
    case (.remembered, .remember): stage = send.announces ? .publish : .done(nil)
    case (.answered(_, let response), .find(_, let page)): looked(response, page: page)
    case (.failed(_, let error), .find): stage = .failed(error.during(.publish))
    case (.answered(_, let response), .publish):
      do throws(TransferError) {
        stage = .done(try remote.messageID(response))
      } catch {
        publishFailed(error)
      }
    case (.failed(_, let error), .publish): publishFailed(error)
    case (.interrupted, .publish): stage = .find()
    case (.interrupted, .upload):
      // It may be long past when this goes on.
      stage = .slot
      slots = 0
    case (.interrupted, .slot), (.interrupted, .find): break
    default: preconditionFailure("\(outcome.name) does not follow")
    }
  }

  private mutating func opened(_ content: OutgoingContent) {
    size = content.size
    sha256 = content.sha256
    do throws(TransferError) {
      try remote.check(size: size, of: send.name)
      stage = .slot
    } catch {
      stage = .failed(error.during(.prepare))
    }
  }

  private mutating func slotAnswered(_ response: HTTPResponse) {
    do throws(TransferError) {
      let slot = try remote.slot(response, fileID: fileID, for: send, size: size)
      if let sizes = slot.sizes, !sizes.contains(size) {
        throw TransferError(
          .fileSizeExceeded,
          "\"\(send.name)\" has \(size) bytes; CometChat's storage takes \(sizes.lowerBound) to "
            + "\(sizes.upperBound) of it."
        )
      }
      if slot.deadlineMs > remote.moment(of: response) {
        stage = .upload(slot)
      } else {
        expired(Self.lateSlot.during(.prepare))
      }
    } catch {
      stage = .failed(error.during(.prepare))
    }
  }

  private static let lateSlot = TransferError(
    .presignedURLExpired,
    "CometChat gave places in its storage that had expired already; try again later."
  )

  /// The question itself got no answer.
  private mutating func slotFailed(_ error: TransferError) {
    stage = .failed(error.failedSlot.during(.prepare))
  }

  private mutating func expired(_ error: TransferError) {
    stage = slots < Self.maxSlots ? .slot : .failed(error)
  }

  private mutating func uploadAnswered(_ response: HTTPResponse, _ slot: UploadSlot) {
    // S3 may fail after it has begun to answer.
    guard response.isSuccess, StorageFault(response.body) == nil else {
      let error = remote.uploadError(response, deadlineMs: slot.deadlineMs).during(.upload)
      if error.code == .presignedURLExpired { return expired(error) }
      stage = .failed(error)
      return
    }
    spoilt = slot.attachment
    spoilt?.file.sha256 = sha256
    stage = .verify
  }

  private mutating func publishFailed(_ error: TransferError) {
    switch attempts.failed(error) {
    case .giveUp: stage = .failed(error.during(.publish))
    case .again: stage = .publish
    case .look: stage = .find()
    }
  }

  /// Whether the message is there already: in this page, perhaps in an older one, or not.
  private mutating func looked(_ response: HTTPResponse, page: Int) {
    do throws(TransferError) {
      switch try remote.find(asked, in: response) {
      case .there(let id): stage = .done(id)
      case .further(let oldest) where page < CometChatRemote.lookedPages:
        stage = .find(before: oldest, page: page + 1)
      case .further, .absent: stage = .publish
      }
    } catch {
      stage = .failed(error.during(.publish))
    }
  }

  var settled: Int64 { stored == nil && spoilt == nil ? 0 : size }

  var unannounced: SharedFile? {
    if case .done = stage { nil } else { stored?.file }
  }

  mutating func restart() {
    slots = 0
    attempts = PublishAttempts(limit: Self.maxMessages)
    spoilt = nil
    // A failed message may have come about after all.
    stage = stored == nil ? .open : shown
  }

  private var shown: Stage { send.announces ? .find() : .done(nil) }
}

/// What outlives the process: the file that is stored and not shown.
extension CometChatUpload {
  var checkpoint: [UInt8]? {
    guard let stored else { return nil }
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("id", stored.file.id)
    writer.field("name", stored.file.name)
    writer.field("size", stored.file.size)
    writer.field("type", stored.file.contentType)
    writer.field("sha256", stored.file.sha256)
    writer.field("url", stored.url)
    writer.endObject()
    return writer.take()
  }

  mutating func recover(_ checkpoint: [UInt8]?) {
    guard let checkpoint, let node = try? JSONNode(parsing: checkpoint) else { return }
    let members = Members(node)
    guard let id = members.string("id"), let name = members.string("name"),
      let url = members.string("url")
    else { return }
    stored = Attachment(
      SharedFile(
        id: id,
        name: name,
        size: members.int("size"),
        contentType: members.string("type"),
        sha256: members.string("sha256")
      ),
      url: url
    )
    size = members.int("size") ?? 0
    stage = shown
  }
}
