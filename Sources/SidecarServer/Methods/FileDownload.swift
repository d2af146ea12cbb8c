internal import JSON
internal import JSONRPC
internal import TransferModel

/// `file/download`: fetches a file of a channel.
struct FileDownload: TransferMethod {
  static let name = "file/download"
  static let isUpload = false
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var locator: FileLocator
    /// Beside a message: which of its files.
    var fileID: String?
    var target: TargetParams
    var cipherKey: String?
    var computesDigest: Bool
    var options: TransferOptions
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let remote = try fields.remote()
    let (locator, fileID) = try locator(&fields)
    let cipherKey = try fields.optionalString("cipherKey")
    let target = try TargetParams(&fields)
    return try Params(
      remote: remote,
      locator: locator,
      fileID: fileID,
      target: target,
      cipherKey: cipherKey,
      computesDigest: fields.computesDigest(),
      options: TransferOptions(&fields, isStream: target.isStream)
    )
  }

  /// One of: `channel`, `id` and `name`; `url`; `messageId`, perhaps with the `id` of a file.
  private static func locator(
    _ fields: inout JSONFields
  ) throws(JSONError) -> (FileLocator, fileID: String?) {
    let channel = try fields.optionalString("channel")
    let id = try fields.optionalString("id")
    let name = try fields.optionalString("name")
    let url = try fields.optionalString("url")
    let messageID = try fields.optionalString("messageId")
    switch (id, name, url, messageID) {
    case (nil, nil, let url?, nil):
      return (.url(url), nil)
    case (let id, nil, nil, let messageID?):
      let key = try MessageKey(messageID, &fields)
      return (.message(channel: key.channel, key.timetoken), id)
    case (let id?, let name?, nil, nil):
      guard let channel else { throw fields.missing("channel") }
      return (.key(channel: channel, id: id, name: name), nil)
    case (.some, nil, nil, nil):
      throw fields.missing("name")
    case (nil, _, nil, nil):
      throw fields.missing("id", ", or url or messageId instead of it")
    case (_, _, .some, _), (_, _, _, .some):
      throw fields.error("id", "name the file by id and name, or by url, or by messageId")
    }
  }

  func options(of params: Params) -> TransferOptions { params.options }
  func remote(of params: Params) -> String? { params.remote }
  func computesDigest(_ params: Params) -> Bool { params.computesDigest }

  func operation(
    _ params: Params,
    _ settings: ServerSettings
  ) throws(TransferError) -> TransferOperation {
    let remote = params.remote ?? server.defaultRemote
    guard params.fileID == nil || server.hasMediaMessages(remote) else {
      throw TransferError(
        .invalidArgument,
        "A message of \"\(remote)\" has one file: give messageId alone, or id and name.",
        field: "/id"
      )
    }
    return .downloadFile(
      DownloadFile(
        params.locator,
        target: try params.target.target(
          relativeTo: settings.rootPath,
          inlineLimit: settings.inlineLimit
        ),
        cipherKey: try server.cipherKey(params.cipherKey, on: params.remote),
        fileID: params.fileID
      )
    )
  }
}
