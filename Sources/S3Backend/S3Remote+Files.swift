package import Backends
import Configuration
package import TransferModel

/// Questions about the files of channels.
extension S3Remote {
  /// How long a file's URL lives, in seconds.
  static let fileURLLife: Int64 = 3600

  package func listFiles(
    channel: String,
    limit: Int,
    next: String?
  ) throws(TransferError) -> RemoteCall<FilePage> {
    let folder = ChannelLayout.folder(of: channel)
    let request = try listing(below: folder, delimiter: nil, limit: limit, next: next)
    return .ask(request) { response throws(TransferError) in
      let page = try self.page(response)
      let files = page.keys.compactMap { listed -> SharedFile? in
        guard let path = self.path(ofKey: listed.key), path.utf8.starts(with: (folder + "/").utf8),
          let file = ChannelLayout.file(
            below: String(Substring(path.utf8.dropFirst(folder.utf8.count + 1)))
          )
        else { return nil }
        return SharedFile(
          id: file.id,
          name: file.name,
          size: listed.size,
          createdMs: listed.modifiedMs
        )
      }
      return .done(FilePage(files: files, next: page.next.map(PageToken.wrap)))
    }
  }

  package func fileURL(
    channel: String,
    id: String,
    name: String,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<String> {
    let key = try key(filePath(channel: channel, id: id, name: name))
    return .done(try presigned(key, seconds: Self.fileURLLife, nowMs: nowMs).url)
  }

  package func deleteFile(
    channel: String,
    id: String,
    name: String
  ) throws(TransferError) -> RemoteCall<Void> {
    try delete(filePath(channel: channel, id: id, name: name))
  }

  /// Where a file lies below the remote's root.
  /// - Throws: `ERR_INVALID_ARGUMENT` for channel, id and name that together are too long.
  func filePath(channel: String, id: String, name: String) throws(TransferError) -> String {
    guard !id.isEmpty, !name.isEmpty else {
      throw TransferError(.invalidArgument, "A file has an id and a name.", field: "/id")
    }
    let path = ChannelLayout.path(channel: channel, id: id, name: name)
    let root = settings.prefix.isRoot ? 0 : settings.prefix.fullPath.utf8.count + 1
    guard root + path.utf8.count <= KeyRules.longestKey else {
      throw TransferError(
        .invalidArgument,
        "Channel and name are too long together: S3 takes keys of \(KeyRules.longestKey) bytes.",
        field: "/name"
      )
    }
    return path
  }
}
