internal import Backends
internal import Configuration
internal import Crypto
internal import JSON
internal import TransferModel

/// Sends a file on a channel: a place in the storage, the form with the bytes and, unless that is
/// left to later, the announcement.
struct PubNubUpload: Backend {
  private let send: SendFile
  private let remote: PubNubRemote
  private let cipher: ContentCipher?
  private var stage = Stage.open
  /// Bytes that the host sent, and as they are stored.
  private var size: Int64 = 0
  private var storedSize: Int64 = 0
  private var sha256: String?
  /// What is stored already, to be announced.
  private var stored: SharedFile?
  /// What may be stored and is not to be announced: the file in each place that was given, the
  /// present one last.
  private var spoilt: [SharedFile] = []
  /// A moment before it was announced for the first time, by PubNub's clock, where that is known.
  private var since: Timetoken?
  /// Places that were asked for.
  private var slots = 0
  private var attempts: PublishAttempts

  private enum Stage {
    case open, encrypt, slot
    case upload(UploadSlot)
    /// Remove what earlier places may hold.
    case tidy
    case verify
    case remember
    /// Find out whether an announcement whose answer was lost has come about.
    ///
    /// In a page of history, the first one or what is older than a moment.
    case find(olderThan: Timetoken? = nil, page: Int = 1)
    case publish
    case done(Timetoken?)
    case failed(TransferError)
  }

  /// A place is good for a minute: one that expired on the way is asked for again so often.
  private static let maxSlots = 3
  /// Pages of history that are looked through for an announcement.
  private static let maxPages = 100
  /// What PubNub's machines may differ by in their clocks.
  private static let clockMarginMs: Int64 = 60_000

  init(_ send: SendFile, remote: PubNubRemote, cipher: ContentCipher?) {
    self.send = send
    self.remote = remote
    self.cipher = cipher
    attempts = PublishAttempts(limit: remote.settings.publishRetryLimit)
  }

  mutating func next() -> BackendStep {
    switch stage {
    case .open:
      return .content(.openSource)
    case .encrypt:
      guard let cipher else { preconditionFailure("nothing to encrypt with") }
      return .content(.encryptSource(cipher))
    case .slot:
      slots += 1
      return .http(
        HTTPExchange(
          remote.slotRequest(channel: send.channel, name: send.name),
          phase: .prepare
        )
      )
    case .upload(let slot):
      let type = cipher == nil ? send.contentType : "application/octet-stream"
      return .http(HTTPExchange(slot.request(size: storedSize, type: type), phase: .upload))
    case .tidy:
      return .http(HTTPExchange(deleteRequest(spoilt[0]), phase: .upload, tellsFailure: true))
    case .verify:
      return .content(.verifySource)
    case .remember:
      return .content(.remember)
    case .find(let moment, _):
      return .http(
        HTTPExchange(
          remote.historyRequest(channel: send.channel, limit: Rules.pageEntries, start: moment),
          phase: .publish,
          tellsFailure: true
        )
      )
    case .publish:
      return publish()
    case .done(let timetoken):
      return done(timetoken)
    case .failed(let error):
      return .fail(error)
    }
  }

  private mutating func publish() -> BackendStep {
    guard let stored else { preconditionFailure("announced before it was stored") }
    var announcement = send.announcement
    announcement.fileID = stored.id
    announcement.fileName = stored.name
    do throws(TransferError) {
      let request = try remote.publishRequest(announcement)
      let delay = attempts.begin()
      return .http(HTTPExchange(request, phase: .publish, delay: delay, tellsFailure: true))
    } catch {
      return .fail(error.during(.publish))
    }
  }

  private func done(_ timetoken: Timetoken?) -> BackendStep {
    guard let stored else { preconditionFailure("done before it was stored") }
    let url = try? remote.url(
      channel: send.channel,
      id: stored.id,
      name: stored.name,
      nowMs: remote.lastNowMs
    )
    return .done(
      .shared(
        .init(channel: send.channel, file: stored, timetoken: timetoken, url: url)
      )
    )
  }

  mutating func receive(_ outcome: StepOutcome) {
    switch (outcome, stage) {
    case (.sourceOpened(let content), .open): opened(content)
    case (.sourceOpened(let content), .encrypt):
      storedSize = content.size
      stage = .slot
    case (.answered(_, let response), .slot): slotAnswered(response)
    case (.answered(_, let response), .upload): uploadAnswered(response)
    case (.answered, .tidy), (.failed, .tidy):
      // What cannot be removed is left: a file that nobody was told of harms nobody.
      spoilt.removeFirst()
      tidy()
    case (.sourceVerified, .verify):
      stored = spoilt.popLast()
      stage = .remember
    case (.remembered, .remember): stage = send.announces ? .publish : .done(nil)
    case (.answered(_, let response), .find(let moment, let page)):
      looked(response, olderThan: moment, page: page)
    case (.failed(_, let error), .find): lookFailed(error)
    case (.answered(_, let response), .publish):
      do throws(TransferError) {
        stage = .done(try remote.timetoken(response))
      } catch {
        publishFailed(error)
      }
    case (.failed(_, let error), .publish): publishFailed(error)
    case (.interrupted, .publish): stage = .find()
    case (.interrupted, .upload):
      // It may be of another minute when this goes on.
      stage = .slot
      slots = 0
    case (.interrupted, .slot), (.interrupted, .tidy), (.interrupted, .find): break
    default: preconditionFailure("\(outcome.name) does not follow")
    }
  }

  private mutating func opened(_ content: OutgoingContent) {
    size = content.size
    sha256 = content.sha256
    storedSize = cipher?.encryptedSize(of: size) ?? size
    if cipher != nil, size == 0 {
      stage = .failed(
        TransferError(
          .fileDataEmpty,
          "\"\(send.name)\" is empty, and zero bytes cannot be encrypted.",
          phase: .prepare
        )
      )
    } else if let limit = remote.maxFileSize, storedSize > limit {
      let how = cipher == nil ? "" : " once encrypted"
      stage = .failed(
        TransferError(
          .fileSizeExceeded,
          "\"\(send.name)\" has \(storedSize) bytes\(how); limits.maxFileSize allows \(limit), and "
            + "PubNub's storage no more unless its support has raised it.",
          phase: .prepare
        )
      )
    } else {
      stage = cipher == nil ? .slot : .encrypt
    }
  }

  private mutating func slotAnswered(_ response: HTTPResponse) {
    do throws(TransferError) {
      guard response.isSuccess else {
        throw remote.error(response, doing: "give a place for the file").withoutSlot(
          isFinal: true,
          keeping: [.permissionDenied, .unauthenticated, .unsupported, .config, .rateLimited]
        )
      }
      let slot = try UploadSlot(response)
      spoilt.append(
        SharedFile(
          id: slot.id,
          name: slot.name,
          size: size,
          contentType: send.contentType,
          sha256: sha256
        )
      )
      stage = .upload(slot)
      since = response.header("Date").flatMap(HTTPDate.milliseconds).map {
        Timetoken(($0 - Self.clockMarginMs) * 10_000)
      }
    } catch {
      stage = .failed(error.during(.prepare))
    }
  }

  private mutating func uploadAnswered(_ response: HTTPResponse) {
    // S3 may fail after it has begun to answer.
    guard response.isSuccess, StorageFault(response.body) == nil else {
      if (400..<500).contains(response.status) { spoilt.removeLast() }
      let error = uploadError(response)
      let isExpired = error.code == .presignedURLExpired && slots < Self.maxSlots
      stage = isExpired ? .slot : .failed(error.during(.upload))
      return
    }
    tidy()
  }

  private mutating func tidy() {
    stage = spoilt.count > 1 ? .tidy : .verify
  }

  private func uploadError(_ response: HTTPResponse) -> TransferError {
    var error = remote.error(response, doing: "take the file")
    let words = error.serverMessage ?? ""
    error.code =
      switch error.serverCode {
      case "EntityTooLarge": .fileSizeExceeded
      case "AccessDenied" where words.contains("expired"): .presignedURLExpired
      default: .s3UploadFailed
      }
    return error
  }

  private mutating func publishFailed(_ error: TransferError) {
    switch attempts.failed(error) {
    case .giveUp: stage = .failed(error.during(.publish))
    case .again: stage = .publish
    case .look: stage = announced
    }
  }

  /// Whether the file was announced already: it is in this page of history, may be in the one
  /// before, or was not.
  private mutating func looked(_ response: HTTPResponse, olderThan moment: Timetoken?, page: Int) {
    do throws(TransferError) {
      let found = try remote.page(
        response,
        channel: send.channel,
        cipher: cipher,
        nowMs: remote.lastNowMs
      )
      if let message = found.messages.first(where: { $0.file?.id == stored?.id }) {
        stage = .done(message.timetoken)
      } else if let more = found.more, page < Self.maxPages, moment.map({ more < $0 }) ?? true,
        since.map({ more > $0 }) ?? true
      {
        stage = .find(olderThan: more, page: page + 1)
      } else {
        stage = .publish
      }
    } catch {
      lookFailed(error)
    }
  }

  /// Where history will not say for good, it is announced again; otherwise nothing is done that
  /// may be too much, and history asked again by a retry.
  private mutating func lookFailed(_ error: TransferError) {
    switch error.code {
    case .permissionDenied, .unsupported: stage = .publish
    default: stage = .failed(error.during(.publish))
    }
  }

  var settled: Int64 {
    switch stage {
    case .open, .encrypt, .slot, .upload, .tidy: 0
    case .verify, .remember, .find, .publish, .done, .failed: stored == nil ? 0 : storedSize
    }
  }

  var unannounced: SharedFile? {
    if case .done = stage { nil } else { stored }
  }

  var cleanUp: [HTTPRequest] {
    spoilt.map(deleteRequest)
  }

  private func deleteRequest(_ file: SharedFile) -> HTTPRequest {
    remote.deleteRequest(channel: send.channel, id: file.id, name: file.name)
  }

  mutating func restart() {
    slots = 0
    attempts = PublishAttempts(limit: remote.settings.publishRetryLimit)
    // A failed announcement may have come about after all.
    stage = stored == nil ? .open : announced
  }

  private var announced: Stage {
    guard send.announces else { return .done(nil) }
    return send.announcement.store ? .find() : .publish
  }
}

/// What outlives the process: the file that is stored and not announced, or those that may be and
/// will not be.
extension PubNubUpload {
  var checkpoint: [UInt8]? {
    guard stored != nil || !spoilt.isEmpty else { return nil }
    var writer = JSONWriter()
    writer.beginObject()
    if let stored {
      writer.field("id", stored.id)
      writer.field("name", stored.name)
      writer.field("size", stored.size)
      writer.field("storedSize", storedSize)
      writer.field("sha256", stored.sha256)
      writer.field("since", since?.description)
    }
    if !spoilt.isEmpty {
      writer.key("spoilt")
      writer.beginArray()
      for file in spoilt {
        writer.beginObject()
        writer.field("id", file.id)
        writer.field("name", file.name)
        writer.endObject()
      }
      writer.endArray()
    }
    writer.endObject()
    return writer.take()
  }

  mutating func recover(_ checkpoint: [UInt8]?) {
    guard let checkpoint, let node = try? JSONNode(parsing: checkpoint) else { return }
    let members = Members(node)
    members["spoilt"]?.forEachElement { element in
      let file = Members(element)
      if let id = file.string("id"), let name = file.string("name") {
        spoilt.append(SharedFile(id: id, name: name))
      }
      return true
    }
    guard let id = members.string("id"), let name = members.string("name") else { return }
    stored = SharedFile(
      id: id,
      name: name,
      size: members.int("size"),
      contentType: send.contentType,
      sha256: members.string("sha256")
    )
    since = members.timetoken("since")
    size = members.int("size") ?? 0
    storedSize = members.int("storedSize") ?? size
    stage = announced
  }
}
