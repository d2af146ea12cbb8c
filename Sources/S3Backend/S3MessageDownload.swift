import Backends
import TransferModel

/// Fetches the file that a message announced: looks for the message, reads it, then is the download
/// of its file.
struct S3MessageDownload: Backend {
  private let remote: S3Remote
  private let channel: String
  private let timetoken: Timetoken
  private let target: TransferTarget
  private var stage = Stage.find
  /// What an earlier process had of the file.
  private var earlier: [UInt8]?

  private enum Stage: Sendable {
    case find
    case read(MessageKey)
    case fetch(S3Download)
    case failed(TransferError)
  }

  init(
    _ remote: S3Remote,
    channel: String,
    timetoken: Timetoken,
    target: TransferTarget
  ) throws(TransferError) {
    self.remote = remote
    self.channel = channel
    self.timetoken = timetoken
    self.target = target
    _ = try remote.findMessage(channel: channel, timetoken)
  }

  private var download: S3Download? {
    if case .fetch(let download) = stage { download } else { nil }
  }

  var width: Int { download?.width ?? 1 }
  var settled: Int64 { download?.settled ?? 0 }
  var checkpoint: [UInt8]? { download?.checkpoint ?? earlier }
  var cleanUp: [HTTPRequest] { download?.cleanUp ?? [] }

  mutating func next() -> BackendStep {
    do throws(TransferError) {
      switch stage {
      case .find: return ask(try remote.findMessage(channel: channel, timetoken))
      case .read(let key): return ask(try remote.get(key, channel: channel))
      case .fetch(var download):
        let step = download.next()
        stage = .fetch(download)
        return step
      case .failed(let error): return .fail(error)
      }
    } catch {
      return .fail(error.during(.prepare))
    }
  }

  private func ask(_ request: HTTPRequest) -> BackendStep {
    .http(HTTPExchange(request, phase: .prepare))
  }

  mutating func receive(_ outcome: StepOutcome) {
    if case .fetch(var download) = stage {
      download.receive(outcome)
      return stage = .fetch(download)
    }
    // Stopped meanwhile, it is asked again.
    guard case .answered(_, let response) = outcome else { return }
    do throws(TransferError) {
      switch stage {
      case .find: stage = .read(try remote.foundMessage(response, channel: channel, timetoken))
      case .read(let key): stage = .fetch(try download(in: response, key))
      case .fetch, .failed: break
      }
    } catch {
      stage = .failed(error.during(.prepare))
    }
  }

  private func download(
    in response: HTTPResponse,
    _ key: MessageKey
  ) throws(TransferError) -> S3Download {
    guard let message = try remote.message(response, key, channel: channel) else {
      throw S3Remote.noMessage(channel, timetoken)
    }
    guard let file = message.file else {
      throw message.error
        ?? TransferError(.notFound, "The message of \(timetoken) announces no file.")
    }
    var download = try S3Download(
      remote,
      path: remote.filePath(channel: channel, id: file.id, name: file.name),
      fileName: file.name,
      range: nil,
      target: target
    )
    if let earlier { download.recover(earlier) }
    return download
  }

  mutating func restart() {
    switch stage {
    case .fetch(var download):
      download.restart()
      stage = .fetch(download)
    case .find, .read, .failed: stage = .find
    }
  }

  mutating func recover(_ checkpoint: [UInt8]?) { earlier = checkpoint }
}
