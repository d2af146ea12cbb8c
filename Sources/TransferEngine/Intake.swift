internal import Configuration
internal import Crypto
internal import LocalFiles
internal import TransferModel

/// Looks at a request before it is queued, so that what cannot work is refused at once.
struct Intake {
  let limits: Limits
  /// Whether the remote takes empty files.
  var takesEmpty = true
  /// False where its batch is full.
  var hasPlace = true
  /// Why the remote's own limits are not known.
  var limitsFailure: TransferError?

  /// What was found out.
  struct Finding {
    /// Bytes; nil where only the remote or the host knows.
    var size: Int64?
    /// Tells whether two requests mean the same bytes.
    var sourceIdentity = ""
    /// Why it cannot work.
    var rejection: TransferError?
  }

  func inspect(_ spec: TransferSpec) -> Finding {
    var finding = Finding()
    do throws(TransferError) {
      switch spec.operation {
      case .putObject(let put):
        try look(at: put.source, &finding)
        try check(
          name: put.reference.name,
          type: put.settable.contentType,
          size: finding.size
        )
      case .sendFile(let send):
        try look(at: send.source, &finding)
        try checkContent(name: send.name, size: finding.size)
        try check(name: send.name, type: send.contentType, size: finding.size)
      case .getObject, .downloadFile:
        break
      }
    } catch {
      finding.rejection = error.during(.prepare).explained(by: limitsFailure)
      finding.rejection?.fileUploaded = spec.announces ? false : nil
    }
    return finding
  }

  private func look(
    at source: TransferSource,
    _ finding: inout Finding
  ) throws(TransferError) {
    switch source {
    case .path(let path):
      let identity = try SourceFile.look(at: path, within: Roots(limits.roots))
      finding.size = identity.size
      finding.sourceIdentity = identity.description
    case .bytes(let bytes):
      let digest = Digest(.sha256)
      digest.update(bytes)
      finding.size = Int64(bytes.count)
      finding.sourceIdentity = digest.hex
    case .spool(let path):
      finding.size = try SourceFile.look(at: path).size
    case .stream(let size):
      finding.size = size
    }
  }

  private func checkContent(name: String, size: Int64?) throws(TransferError) {
    guard !takesEmpty, size == 0 else { return }
    throw TransferError(
      .fileDataEmpty,
      "\"\(name)\" is empty, and the remote takes no empty files."
    )
  }

  private func check(name: String, type: String, size: Int64?) throws(TransferError) {
    try TypePolicy(allowed: limits.allowedTypes, blocked: limits.blockedTypes)
      .check(name: name, contentType: type)
    if !hasPlace {
      let limit = limits.maxFileCount.map { "\($0)" } ?? "no"
      throw TransferError(
        .fileCountExceeded,
        "The batch has \(limit) files, as many as limits.maxFileCount allows; remove one, or send "
          + "\"\(name)\" in another batch."
      )
    }
    if let size, let limit = limits.maxFileSize, size > limit {
      throw TransferError(
        .fileSizeExceeded,
        "\"\(name)\" has \(size) bytes; limits.maxFileSize allows \(limit)."
      )
    }
  }
}

extension TransferError {
  /// The same error; where it is about a limit that the remote could not be asked for, it says so.
  func explained(by failure: TransferError?) -> TransferError {
    guard let failure, code == .fileCountExceeded || code == .fileSizeExceeded else { return self }
    var error = self
    error.message += " The remote's own limits could not be read: \(failure.message)"
    return error
  }
}
