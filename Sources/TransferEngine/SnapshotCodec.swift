internal import JSON
internal import TransferModel

/// How a transfer ended, as its journal row keeps it.
enum SnapshotCodec {
  /// One of the two.
  struct Ending: Equatable {
    var result: TransferResult?
    var error: TransferError?
  }

  static func encode(_ ending: Ending) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    if let error = ending.error { writer.object("error") { $0.members(of: error) } }
    switch ending.result {
    case .stored(let stored):
      writer.object("stored") { writer in
        writer.object("metadata") { $0.members(of: stored.metadata) }
        writer.field("url", stored.url)
      }
    case .shared(let shared):
      writer.object("shared") { writer in
        writer.field("channel", shared.channel)
        writer.object("file") { $0.members(of: shared.file) }
        writer.field("timetoken", shared.timetoken?.value)
        writer.field("url", shared.url)
      }
    case .downloaded(let download):
      writer.object("downloaded") { writer in
        writer.field("path", download.path)
        writer.field("isTemporary", download.isTemporary)
        writer.field("size", download.size)
        writer.field("sha256", download.sha256)
        if let metadata = download.metadata {
          writer.object("metadata") { $0.members(of: metadata) }
        }
        // Inline content was told once; a row is no place for it.
      }
    case nil:
      break
    }
    writer.endObject()
    return writer.take()
  }

  static func decode(_ bytes: [UInt8]) throws(JSONError) -> Ending {
    var fields = try JSONFields(JSONNode(parsing: bytes))
    var ending = Ending()
    ending.error = try fields.optionalObject("error", error)
    if let stored = try fields.optionalObject("stored", stored) { ending.result = .stored(stored) }
    if let shared = try fields.optionalObject("shared", shared) { ending.result = .shared(shared) }
    if let download = try fields.optionalObject("downloaded", download) {
      ending.result = .downloaded(download)
    }
    try fields.finish()
    return ending
  }

  private static func stored(
    _ fields: inout JSONFields
  ) throws(JSONError) -> TransferResult.StoredObject {
    let metadata = try fields.optionalObject("metadata", metadata)
    guard let metadata else { throw fields.missing("metadata") }
    return .init(metadata: metadata, url: try fields.optionalString("url"))
  }

  private static func shared(
    _ fields: inout JSONFields
  ) throws(JSONError) -> TransferResult.SharedUpload {
    let channel = try fields.string("channel")
    guard let file = try fields.optionalObject("file", file) else { throw fields.missing("file") }
    return .init(
      channel: channel,
      file: file,
      timetoken: try fields.optionalInt("timetoken").map { Timetoken($0) },
      url: try fields.optionalString("url")
    )
  }

  private static func download(
    _ fields: inout JSONFields
  ) throws(JSONError) -> TransferResult.Download {
    try .init(
      path: fields.optionalString("path"),
      isTemporary: fields.bool("isTemporary", default: false),
      size: fields.int("size"),
      sha256: fields.optionalString("sha256"),
      metadata: fields.optionalObject("metadata", metadata),
      data: nil
    )
  }

  private static func file(_ fields: inout JSONFields) throws(JSONError) -> SharedFile {
    try SharedFile(
      id: fields.string("id"),
      name: fields.string("name"),
      size: fields.optionalInt("size"),
      contentType: fields.optionalString("contentType"),
      sha256: fields.optionalString("sha256"),
      createdMs: fields.optionalInt("createdMs")
    )
  }

  private static func metadata(_ fields: inout JSONFields) throws(JSONError) -> ObjectMetadata {
    var settable = SettableMetadata(contentType: try fields.string("contentType"))
    settable.cacheControl = try fields.optionalString("cacheControl")
    settable.contentDisposition = try fields.optionalString("contentDisposition")
    settable.contentEncoding = try fields.optionalString("contentEncoding")
    settable.contentLanguage = try fields.optionalString("contentLanguage")
    for (key, value) in try fields.node("custom").members() {
      settable.custom[key] = try value.string()
    }
    return try ObjectMetadata(
      fullPath: fields.string("fullPath"),
      size: fields.int("size"),
      settable: settable,
      createdMs: fields.int("createdMs"),
      updatedMs: fields.int("updatedMs"),
      etag: fields.string("etag"),
      md5: fields.optionalString("md5"),
      sha256: fields.optionalString("sha256"),
      generation: fields.optionalInt("generation"),
      bucket: fields.optionalString("bucket")
    )
  }

  private static func error(_ fields: inout JSONFields) throws(JSONError) -> TransferError {
    guard let code = try fields.optionalEnum("code", of: ErrorCode.self) else {
      throw fields.missing("code")
    }
    var error = TransferError(code, try fields.string("message"))
    error.phase = try fields.optionalEnum("phase")
    error.retryableOverride = try fields.optionalBool("retryable")
    error.retryAfterMs = try fields.optionalInt("retryAfterMs")
    error.httpStatus = try fields.optionalInt("httpStatus").map { Int($0) }
    error.serverCode = try fields.optionalString("serverCode")
    error.serverMessage = try fields.optionalString("serverMessage")
    error.field = try fields.optionalString("field")
    error.fileUploaded = try fields.optionalBool("fileUploaded")
    error.fileID = try fields.optionalString("fileId")
    error.fileName = try fields.optionalString("fileName")
    if let cause = try fields.optionalEnum("cause", of: ErrorCode.self) {
      error.cause = .init(
        code: cause,
        httpStatus: try fields.optionalInt("causeStatus").map { Int($0) }
      )
    }
    return error
  }
}

extension JSONWriter {
  fileprivate mutating func members(of error: TransferError) {
    field("code", error.code.rawValue)
    field("message", error.message)
    field("phase", error.phase?.rawValue)
    field("retryable", error.retryableOverride)
    field("retryAfterMs", error.retryAfterMs)
    field("httpStatus", error.httpStatus)
    field("serverCode", error.serverCode)
    field("serverMessage", error.serverMessage)
    field("field", error.field)
    field("fileUploaded", error.fileUploaded)
    field("fileId", error.fileID)
    field("fileName", error.fileName)
    field("cause", error.cause?.code.rawValue)
    field("causeStatus", error.cause?.httpStatus)
  }

  fileprivate mutating func members(of file: SharedFile) {
    field("id", file.id)
    field("name", file.name)
    field("size", file.size)
    field("contentType", file.contentType)
    field("sha256", file.sha256)
    field("createdMs", file.createdMs)
  }

  fileprivate mutating func members(of metadata: ObjectMetadata) {
    field("fullPath", metadata.fullPath)
    field("size", metadata.size)
    field("contentType", metadata.settable.contentType)
    field("cacheControl", metadata.settable.cacheControl)
    field("contentDisposition", metadata.settable.contentDisposition)
    field("contentEncoding", metadata.settable.contentEncoding)
    field("contentLanguage", metadata.settable.contentLanguage)
    object("custom") { writer in
      for (key, value) in metadata.settable.custom { writer.field(named: key.text, value) }
    }
    field("createdMs", metadata.createdMs)
    field("updatedMs", metadata.updatedMs)
    field("etag", metadata.etag)
    field("md5", metadata.md5)
    field("sha256", metadata.sha256)
    field("generation", metadata.generation)
    field("bucket", metadata.bucket)
  }
}
