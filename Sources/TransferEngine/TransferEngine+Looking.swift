internal import Backends
internal import JSON
package import TransferModel

/// Looking for messages whose answer was lost.
extension TransferEngine {
  /// Pages of a channel's history that are looked through, and the messages of each.
  private static let lookedPages = 100
  private static let pageEntries = 100
  /// What a remote's clock may be behind this machine's.
  private static let clockMarginMs: Int64 = 3_600_000

  /// Milliseconds since 1970, by which `AskedMessage` tells when it was asked for.
  package var nowMs: Int64 { RemoteLink.nowMs }

  /// Finds out what became of messages of one channel, each by its muid or its file.
  /// - Returns: a finding for each, in their order.
  package func find(
    _ messages: [AskedMessage],
    on remote: String
  ) async throws(TransferError) -> [MessageFinding] {
    do throws(TransferError) {
      guard case .http(let link) = try remotes.open(remote) else {
        return try await look(for: messages, on: remote)
      }
      var findings: [MessageFinding] = []
      for message in messages {
        guard let call = try link.remote.find(message) else {
          return try await look(for: messages, on: remote)
        }
        findings.append(try await link.perform(call))
      }
      return findings
    } catch {
      // Whoever may not look there will not learn it by asking again.
      guard [.permissionDenied, .unsupported, .notFound].contains(error.code) else {
        throw error.during(.publish)
      }
      return messages.map { _ in .unknown }
    }
  }

  /// Goes through the history until all are found, or what is older than they are.
  private func look(
    for messages: [AskedMessage],
    on remote: String
  ) async throws(TransferError) -> [MessageFinding] {
    let kept = messages.filter(\.isKept)
    guard let since = kept.map(\.askedMs).min().map({ $0 - Self.clockMarginMs }) else {
      return messages.map { _ in .unknown }
    }
    var missing = Set(kept.compactMap(\.fileIDs.first).map { ExactString($0) })
    var found: [ExactString: Timetoken] = [:]
    var isWhole = false
    var isReadable = true
    var start: Timetoken?
    for _ in 0..<Self.lookedPages {
      let page = try await history(
        of: messages[0].channel,
        limit: Self.pageEntries,
        start: start,
        end: nil,
        cipherKey: nil,
        remote: remote
      )
      for message in page.messages {
        // It may be any of those that are missing.
        if message.error != nil, message.file == nil { isReadable = false }
        guard let id = message.file.map({ ExactString($0.id) }), missing.remove(id) != nil
        else { continue }
        found[id] = message.timetoken
      }
      start = page.more
      isWhole = page.more.map { $0.value / 10_000 < since } ?? true
      if isWhole || missing.isEmpty { break }
    }
    return messages.map { message in
      if let timetoken = message.fileIDs.first.flatMap({ found[$0] }) { return .made(timetoken) }
      return isWhole && isReadable && message.isKept ? .absent : .unknown
    }
  }
}
