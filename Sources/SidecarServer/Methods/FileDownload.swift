internal import JSON
internal import JSONRPC
internal import TransferModel

/// `file/download`: fetches a file of a channel.
struct FileDownload: TransferMethod {
  static let name = "file/download"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var channel: String
    var id: String
    var name: String
    var target: TargetParams
    var options: TransferOptions
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let remote = try fields.remote()
    // Known to the protocol for remotes whose files have no id or are encrypted.
    for (name, why) in [
      ("url", "local files are named by channel, id and name"),
      ("messageId", "local files are named by channel, id and name"),
      ("cipherKey", "local remotes do not encrypt"),
    ] where try fields.optionalString(name) != nil {
      throw fields.error(name, "is not for local remotes: \(why)")
    }
    let channel = try fields.channel()
    let id = try fields.string("id")
    let name = try fields.string("name")
    let target = try TargetParams(&fields)
    return try Params(
      remote: remote,
      channel: channel,
      id: id,
      name: name,
      target: target,
      options: TransferOptions(&fields, isStream: target.isStream)
    )
  }

  func options(of params: Params) -> TransferOptions { params.options }
  func remote(of params: Params) -> String? { params.remote }

  func operation(
    _ params: Params,
    _ settings: ServerSettings
  ) throws(TransferError) -> TransferOperation {
    .downloadFile(
      DownloadFile(
        channel: params.channel,
        id: params.id,
        name: params.name,
        target: try params.target.target(
          relativeTo: settings.rootPath,
          inlineLimit: settings.inlineLimit
        )
      )
    )
  }
}
