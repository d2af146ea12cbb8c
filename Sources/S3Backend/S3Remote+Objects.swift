package import Backends
import Configuration
package import TransferModel

/// Questions about objects.
extension S3Remote {
  /// What CopyObject takes at once.
  private static let largestCopy: Int64 = 5 << 30
  /// How long a URL lives unless told otherwise, and at most, in seconds.
  private static let defaultLife: Int64 = 3600
  private static let longestLife: Int64 = 604_800

  package func metadata(
    _ reference: ObjectReference
  ) throws(TransferError) -> RemoteCall<ObjectMetadata> {
    let path = reference.fullPath
    return try call(about: path) { key in
      .ask(self.request(.head, key)) { response throws(TransferError) in
        .done(try self.read(response, of: path))
      }
    }
  }

  package func update(
    _ reference: ObjectReference,
    _ patch: MetadataPatch
  ) throws(TransferError) -> RemoteCall<ObjectMetadata> {
    let path = reference.fullPath
    return try call(about: path) { key in
      .ask(self.request(.head, key)) { response throws(TransferError) in
        let old = try self.read(response, of: path)
        let copy = try self.copyOntoItself(key, patch, old, response)
        return .ask(copy) { response throws(TransferError) in
          if let fault = S3Fault(response, result: true) {
            throw self.error(fault, "change \(path) in")
          }
          return try self.metadata(reference)
        }
      }
    }
  }

  package func url(
    of reference: ObjectReference,
    expiresIn: Int64?,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<SignedURL> {
    let seconds = expiresIn ?? Self.defaultLife
    guard (1...Self.longestLife).contains(seconds) else {
      throw TransferError(
        .invalidArgument,
        "expiresIn can be 1 to \(Self.longestLife) seconds on this remote.",
        field: "/expiresIn"
      )
    }
    return try call(about: reference.fullPath) { key throws(TransferError) in
      .done(try self.presigned(key, seconds: seconds, nowMs: nowMs))
    }
  }

  package func delete(_ reference: ObjectReference) throws(TransferError) -> RemoteCall<Void> {
    try delete(reference.fullPath)
  }

  /// Removes a key; S3 itself is silent about one that was not there, so it is looked at first.
  func delete(_ path: String) throws(TransferError) -> RemoteCall<Void> {
    try call(about: path) { key in
      .ask(self.request(.head, key)) { response throws(TransferError) in
        if let fault = S3Fault(response), fault.isNotFound {
          throw self.error(fault, "remove \(path) from")
        }
        return .ask(self.request(.delete, key)) { response throws(TransferError) in
          if let fault = S3Fault(response) { throw self.error(fault, "remove \(path) from") }
          return .done(())
        }
      }
    }
  }

  package func listObjects(
    below reference: ObjectReference,
    recursive: Bool,
    limit: Int,
    next: String?
  ) throws(TransferError) -> RemoteCall<ObjectPage> {
    let path = reference.fullPath
    let request = try listing(
      below: path,
      delimiter: recursive ? nil : "/",
      limit: limit,
      next: next
    )
    let ask: RemoteCall<ObjectPage> = .ask(request) { response throws(TransferError) in
      let page = try self.page(response)
      // What no reference can name, such as the empty objects that stand for folders, is left out.
      let items = page.keys.compactMap { listed in
        self.path(ofKey: listed.key).map { ObjectEntry(fullPath: $0, size: listed.size) }
      }
      let prefixes = page.prefixes.compactMap { prefix in
        prefix.utf8.last == UInt8(ascii: "/")
          ? self.path(ofKey: String(Substring(prefix.utf8.dropLast()))) : nil
      }
      return .done(
        ObjectPage(items: items, prefixes: prefixes, next: page.next.map(PageToken.wrap))
      )
    }
    return path.isEmpty ? ask : try call(about: path) { _ in ask }
  }

  /// A request for a page of what lies below a path.
  func listing(
    below path: String,
    delimiter: String?,
    limit: Int,
    next: String?
  ) throws(TransferError) -> HTTPRequest {
    let root = settings.prefix.fullPath
    let folder = [root, path].filter { !$0.isEmpty }.joined(separator: "/")
    var query = [
      ("list-type", "2"), ("encoding-type", "url"), ("max-keys", "\(min(max(limit, 1), 1000))"),
    ]
    if !folder.isEmpty { query.append(("prefix", folder + "/")) }
    if let delimiter { query.append(("delimiter", delimiter)) }
    if let next {
      guard let token = PageToken.unwrap(next) else {
        throw TransferError(
          .invalidArgument,
          "next is no place in this list; take it from the page before.",
          field: "/next"
        )
      }
      query.append(("continuation-token", token))
    }
    return request(.get, nil, query: query)
  }

  /// Reads a page.
  func page(_ response: HTTPResponse) throws(TransferError) -> ListedPage {
    if let fault = S3Fault(response) { throw error(fault, "list") }
    guard let page = ListedPage(response.body) else {
      throw TransferError(
        .server,
        "\(place) answers a list with something else; check that it is an S3 server."
      )
    }
    return page
  }

  private func read(
    _ response: HTTPResponse,
    of path: String
  ) throws(TransferError) -> ObjectMetadata {
    if let fault = S3Fault(response) { throw error(fault, "find \(path) in") }
    return try metadata(of: path, response)
  }

  /// S3 changes metadata only by writing the object anew, which a copy onto itself does without
  /// moving its bytes through here; what the copy would lose is said again.
  private func copyOntoItself(
    _ key: String,
    _ patch: MetadataPatch,
    _ old: ObjectMetadata,
    _ response: HTTPResponse
  ) throws(TransferError) -> HTTPRequest {
    guard old.size <= Self.largestCopy else {
      throw TransferError(
        .unsupported,
        "S3 cannot change the metadata of an object of more than 5 GiB; put it again."
      )
    }
    let marks = MetadataHeaders.read(response.headers).1
    var headers = try MetadataHeaders.make(patch.applied(to: old.settable), marks)
    let source = "/\(settings.bucket)/\(key)"
    headers.append(HTTPHeader("x-amz-copy-source", PercentEncoding.path(source)))
    headers.append(HTTPHeader("x-amz-metadata-directive", "REPLACE"))
    if let etag = response.header("etag"), etag.isValidator {
      headers.append(HTTPHeader("x-amz-copy-source-if-match", etag))
    }
    let kept = [
      "x-amz-storage-class", "x-amz-server-side-encryption",
      "x-amz-server-side-encryption-aws-kms-key-id", "x-amz-website-redirect-location", "expires",
    ]
    for name in kept {
      if let value = response.header(name) { headers.append(HTTPHeader(name, value)) }
    }
    var copy = request(.put, key, headers: headers, body: [])
    copy.answerTimeout = .seconds(600)
    return copy
  }
}

/// Contents that are moved.
extension S3Remote {
  package func upload(_ spec: TransferSpec) throws(TransferError) -> any Backend {
    switch spec.operation {
    case .putObject(let put): return try S3Upload(self, UploadDestination(put))
    case .sendFile(let send): return try S3Send(self, send)
    case .getObject, .downloadFile: preconditionFailure("a download is no upload")
    }
  }

  package func download(_ spec: TransferSpec) throws(TransferError) -> any Backend {
    switch spec.operation {
    case .getObject(let get):
      let path = get.reference.fullPath
      return try S3Download(self, path: path, range: get.range, target: get.target)
    case .downloadFile(let download):
      if case .message(let channel, let timetoken) = download.locator {
        return try S3MessageDownload(
          self,
          channel: channel,
          timetoken: timetoken,
          target: download.target
        )
      }
      let (path, name) = try file(download.locator)
      return try S3Download(
        self,
        path: path,
        fileName: name,
        range: nil,
        target: download.target
      )
    case .putObject, .sendFile: preconditionFailure("an upload is no download")
    }
  }

  /// Where a file lies and what it is called.
  private func file(
    _ locator: FileLocator
  ) throws(TransferError) -> (path: String, name: String) {
    switch locator {
    case .key(let channel, let id, let name):
      return (try filePath(channel: channel, id: id, name: name), name)
    case .url(let url):
      let reference = try reference(url)
      guard !reference.isRoot else {
        throw TransferError(.invalidArgument, "The URL is of no file.", field: "/url")
      }
      let path = reference.fullPath
      return (path, ChannelLayout.name(ofFileAt: path) ?? reference.name)
    case .message: preconditionFailure("the message is to be read first")
    }
  }
}

/// A server's token as hosts get it: theirs to keep, not to make.
enum PageToken {
  private static let mark = "s3."

  static func wrap(_ token: String) -> String { mark + PercentEncoding.component(token) }

  static func unwrap(_ next: String) -> String? {
    guard next.hasPrefix(mark), next.utf8.count <= 8192,
      let token = PercentEncoding.decode(String(next.dropFirst(mark.count))), !token.isEmpty
    else { return nil }
    return token
  }
}
