internal import JSON
internal import JSONRPC
internal import TransferModel

/// `file/send`: stores a file on a channel, then announces it.
struct FileSend: TransferMethod {
  static let name = "file/send"
  static let isUpload = true
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var channel: String
    var source: SourceParams
    var name: String
    var announcement: AnnouncementParams
    var options: TransferOptions
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let remote = try fields.remote()
    let channel = try fields.channel()
    let source = try SourceParams(&fields)
    guard let name = source.name ?? source.pathName, !name.isEmpty else {
      throw fields.error("name", "is required where the source is no path")
    }
    guard name.utf8.count <= 1024, name.unicodeScalars.allSatisfy({ $0.value >= 32 }) else {
      throw fields.error("name", "must be 1 to 1024 bytes without control characters")
    }
    return try Params(
      remote: remote,
      channel: channel,
      source: source,
      name: name,
      announcement: AnnouncementParams(&fields),
      options: TransferOptions(&fields, isStream: source.isStream)
    )
  }

  func options(of params: Params) -> TransferOptions { params.options }
  func remote(of params: Params) -> String? { params.remote }
  func computesDigest(_ params: Params) -> Bool { params.source.computesDigest }

  func operation(
    _ params: Params,
    _ settings: ServerSettings
  ) throws(TransferError) -> TransferOperation {
    let cipherKey = try server.cipherKey(params.announcement.cipherKey, on: params.remote)
    return .sendFile(
      SendFile(
        channel: params.channel,
        name: params.name,
        contentType: params.source.contentType(orNames: [params.name]),
        announcement: params.announcement.announcement(
          channel: params.channel,
          fileID: "",
          name: params.name,
          publisher: settings.publisher,
          cipherKey: cipherKey
        ),
        source: try params.source.source(relativeTo: settings.rootPath)
      )
    )
  }
}
