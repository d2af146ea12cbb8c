package import TransferModel

/// An upload to the embedded remote: stage, fill, publish and, for a channel, announce.
///
/// A retry after a failed announcement starts at `announce`: the content is never stored twice.
package struct LocalUpload: Backend {
  private let operation: Operation
  private var state = State.toStage

  private enum Operation: Sendable {
    case put(PutObject)
    case send(SendFile)
  }

  private enum State: Sendable {
    case toRecover
    case toStage
    case toFill
    case toPublish
    case toAnnounce(SharedFile, url: String)
    case done(TransferResult)
  }

  /// Stores an object.
  package init(_ put: PutObject) { operation = .put(put) }

  /// Stores a file on a channel and, where it is to be, announces it.
  package init(_ send: SendFile) { operation = .send(send) }

  /// None: nothing is moved by exchanges.
  package var settled: Int64 { 0 }

  package mutating func next() -> BackendStep {
    switch state {
    case .toRecover: .local(.recover)
    case .toStage: .local(.stage)
    case .toFill: .local(.fill)
    case .toPublish: .local(publish)
    case .toAnnounce(let file, _): .local(.announce(announcement(of: file)))
    case .done(let result): .done(result)
    }
  }

  package mutating func receive(_ outcome: StepOutcome) {
    switch (state, outcome) {
    case (.toRecover, .recovered(let recovered)):
      state = self.state(after: recovered)
    case (.toStage, .staged):
      state = .toFill
    case (.toFill, .filled):
      state = .toPublish
    case (.toPublish, .objectPublished(let metadata, let url)):
      state = .done(.stored(.init(metadata: metadata, url: url)))
    case (.toPublish, .filePublished(let file, let url)):
      state = announces ? .toAnnounce(file, url: url) : stored(file, url: url, timetoken: nil)
    case (.toAnnounce(let file, let url), .announced(let timetoken)):
      state = stored(file, url: url, timetoken: timetoken)
    case (.toRecover, _), (.toStage, _), (.toFill, _), (.toPublish, _), (.toAnnounce, _),
      (.done, _):
      preconditionFailure("\(outcome.name) cannot follow")
    }
  }

  package var unannounced: SharedFile? {
    switch state {
    case .toAnnounce(let file, _): file
    case .toRecover, .toStage, .toFill, .toPublish, .done: nil
    }
  }

  package mutating func restart() {
    switch state {
    case .toStage, .toFill, .toPublish: state = .toStage
    case .toRecover, .toAnnounce, .done: break
    }
  }

  package mutating func recover(_ checkpoint: [UInt8]?) { state = .toRecover }

  private func state(after recovered: Recovered) -> State {
    switch recovered {
    case .nothing: .toStage
    case .staged: .toFill
    case .objectPublished(let metadata, let url):
      .done(.stored(.init(metadata: metadata, url: url)))
    case .filePublished(let file, let url, nil) where announces: .toAnnounce(file, url: url)
    case .filePublished(let file, let url, let timetoken):
      stored(file, url: url, timetoken: timetoken)
    }
  }

  private func stored(_ file: SharedFile, url: String, timetoken: Timetoken?) -> State {
    .done(.shared(.init(channel: channel, file: file, timetoken: timetoken, url: url)))
  }

  /// Whether the end is an announcement.
  private var announces: Bool {
    switch operation {
    case .put: false
    case .send(let send): send.announces
    }
  }

  private var channel: String {
    switch operation {
    case .put: ""
    case .send(let send): send.channel
    }
  }

  private var publish: LocalOperation {
    switch operation {
    case .put(let put): .publishObject(put.reference, put.settable, put.condition)
    case .send(let send):
      .publishFile(channel: send.channel, name: send.name, contentType: send.contentType)
    }
  }

  private func announcement(of file: SharedFile) -> Announcement {
    switch operation {
    case .put: preconditionFailure("an object is not announced")
    case .send(let send):
      var announcement = send.announcement
      announcement.fileID = file.id
      announcement.fileName = file.name
      return announcement
    }
  }
}
