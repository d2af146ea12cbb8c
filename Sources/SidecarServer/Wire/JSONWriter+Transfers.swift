internal import Crypto
internal import JSON
internal import TransferEngine
internal import TransferModel

extension JSONWriter {
  /// The result of a transfer, as its reply carries it.
  mutating func result(_ result: TransferResult, of id: TransferID, remote: String) {
    beginObject()
    field("transferId", id.description)
    switch result {
    case .stored(let object):
      metadata("metadata", object.metadata, bucket: remote)
      field("url", object.url)
    case .shared(let upload):
      sent(upload)
    case .downloaded(let download):
      self.download(download)
      field("data", download.data.map { Base64.encode($0) })
      if let metadata = download.metadata {
        self.metadata("metadata", metadata, bucket: remote)
      }
    }
    endObject()
  }

  /// Where a download is and what it is.
  mutating func download(_ download: TransferResult.Download) {
    field("path", download.path)
    if download.path != nil { field("temporary", download.isTemporary) }
    field("size", download.size)
    field("sha256", download.sha256)
  }

  /// Bytes in all and per cent; null while unknown.
  mutating func total(_ total: Int64?, loaded: Int64) {
    key("total")
    guard let total else {
      null()
      key("percent")
      null()
      return
    }
    int(total)
    field("percent", percent(loaded, of: total))
  }

  /// Everything known of a transfer.
  mutating func snapshot(_ snapshot: TransferSnapshot) {
    let spec = snapshot.spec
    beginObject()
    subject(spec.id, spec.batchFile)
    field("direction", spec.direction.rawValue)
    field("remote", spec.remote)
    field("ref", spec.reference?.fullPath)
    field("channel", spec.channel)
    field("state", snapshot.state.rawValue)
    field("loaded", snapshot.loaded)
    total(snapshot.total, loaded: snapshot.loaded)
    field("attempt", snapshot.attempt)
    if let error = snapshot.error {
      key("error")
      error.write(
        to: &self,
        .init(
          transferID: spec.id,
          attempt: snapshot.attempt,
          batchID: spec.batchFile?.batch,
          fileID: spec.batchFile?.file
        )
      )
    }
    switch snapshot.result {
    case .stored(let object):
      metadata("metadata", object.metadata, bucket: spec.remote)
    case .shared(let upload):
      object("file") { $0.sent(upload) }
    case .downloaded(let download):
      if let metadata = download.metadata {
        self.metadata("metadata", metadata, bucket: spec.remote)
      }
    case nil:
      if case .putObject(let put) = spec.operation {
        settableMetadata("metadata", put.settable)
      }
    }
    field("resumable", snapshot.isResumable)
    endObject()
  }
}

/// Whole per cent, rounded down, so that 100 means all; of nothing it is all.
func percent(_ loaded: Int64, of total: Int64) -> Int {
  guard loaded < total else { return 100 }
  return min(99, Int(Double(loaded) / Double(total) * 100))
}

extension TransferSnapshot {
  /// Whether `transfer/resume` or `transfer/retry` can still lead to success.
  var isResumable: Bool {
    switch state {
    case .queued, .running, .paused, .interrupted, .failed: true
    case .succeeded, .rejected, .cancelled: false
    }
  }
}
