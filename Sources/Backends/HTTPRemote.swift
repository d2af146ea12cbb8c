package import TransferModel

/// A remote that is spoken to over HTTP: makes requests, proves who asks and reads answers.
///
/// It performs nothing itself. What it learns on the way (a clock that is off, another region, new
/// credentials) it keeps, so one object stands for a remote as long as the process lives. What a
/// kind cannot do throws `ERR_UNSUPPORTED`, which is also what these methods do by themselves.
package protocol HTTPRemote: Sendable {
  /// The request with what proves who asks; called again for every attempt.
  /// - Throws: `ERR_UNAUTHENTICATED` or `ERR_CONFIG` where there are no credentials to use.
  func authorize(_ request: HTTPRequest, nowMs: Int64) throws(TransferError) -> HTTPRequest
  /// What to do with an answer before anybody reads it.
  func judge(_ response: HTTPResponse, to request: HTTPRequest, nowMs: Int64) -> HTTPVerdict

  /// Takes new credentials for every request from now on.
  func replaceCredentials(by credentials: RemoteCredentials) throws(TransferError)

  /// Asks whether the remote can be used from here; what is worth knowing of it, for people.
  func examine(nowMs: Int64) throws(TransferError) -> RemoteCall<String>

  /// What the remote itself takes, as far as that is known by now.
  var ownLimits: RemoteLimits { get }
  /// Asks the remote for its limits; nil where they are known, or there are none to ask for.
  func learnLimits() -> RemoteCall<Void>?

  /// The conversation of an upload.
  func upload(_ spec: TransferSpec) throws(TransferError) -> any Backend
  /// The conversation of a download.
  func download(_ spec: TransferSpec) throws(TransferError) -> any Backend

  /// What a host calls an object, as a reference below this remote's root.
  /// - Throws: `ERR_INVALID_REFERENCE` for a URL of another store or a name it cannot keep apart.
  func reference(_ url: String) throws(TransferError) -> ObjectReference
  /// What is known of an object.
  func metadata(_ reference: ObjectReference) throws(TransferError) -> RemoteCall<ObjectMetadata>
  /// Changes what the uploader said of an object.
  func update(
    _ reference: ObjectReference,
    _ patch: MetadataPatch
  ) throws(TransferError) -> RemoteCall<ObjectMetadata>
  /// Where an object can be had, usable as it is.
  ///
  /// `expiresIn` is in seconds; nil leaves it to the remote.
  func url(
    of reference: ObjectReference,
    expiresIn: Int64?,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<SignedURL>
  /// Removes an object.
  func delete(_ reference: ObjectReference) throws(TransferError) -> RemoteCall<Void>
  /// One page of the objects below a reference.
  func listObjects(
    below reference: ObjectReference,
    recursive: Bool,
    limit: Int,
    next: String?
  ) throws(TransferError) -> RemoteCall<ObjectPage>

  /// A channel as this remote spells it.
  /// - Throws: `ERR_INVALID_ARGUMENT` for what it has no channels of.
  func channel(_ name: String) throws(TransferError) -> String
  /// One page of a channel's files.
  func listFiles(
    channel: String,
    limit: Int,
    next: String?
  ) throws(TransferError) -> RemoteCall<FilePage>
  /// Where a channel's file can be had, usable as it is.
  func fileURL(
    channel: String,
    id: String,
    name: String,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<String>
  /// Removes a channel's file.
  func deleteFile(
    channel: String,
    id: String,
    name: String
  ) throws(TransferError) -> RemoteCall<Void>
  /// Tells a channel's subscribers of a file that is stored already.
  func announce(
    _ announcement: Announcement,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<Timetoken>
  /// A message as it would be sent, with its muid; looks at it before anything is sent.
  /// - Throws: `ERR_INVALID_ARGUMENT` for more than the remote takes.
  func complete(_ message: MediaMessage) throws(TransferError) -> MediaMessage
  /// Tells a channel's members of files that are stored already, by one message; sent twice, they are
  /// told twice.
  func send(_ message: MediaMessage) throws(TransferError) -> RemoteCall<Timetoken>
  /// Looks for a message that was asked for and may have been made; nil where the channel's history
  /// is as good a place to look.
  func find(_ message: AskedMessage) throws(TransferError) -> RemoteCall<MessageFinding>?
  /// A page of a channel's messages, oldest first, and the `start` of the page before it.
  ///
  /// `cipherKey` decrypts them instead of the remote's own cipher.
  func history(
    channel: String,
    limit: Int,
    start: Timetoken?,
    end: Timetoken?,
    cipherKey: Secret?
  ) throws(TransferError) -> RemoteCall<HistoryPage>
  /// One stored message.
  func message(
    channel: String,
    timetoken: Timetoken
  ) throws(TransferError) -> RemoteCall<ChannelMessage>
  /// Removes one stored message.
  func deleteMessage(
    channel: String,
    timetoken: Timetoken
  ) throws(TransferError) -> RemoteCall<Void>

  /// A new way to listen to channels; nothing is listened to yet.
  func feed() throws(TransferError) -> any SubscriptionFeed
}

/// A question to a remote: what to ask, and what to make of the answer, which may be to ask on.
package enum RemoteCall<Value: Sendable>: Sendable {
  case done(Value)
  case ask(
    HTTPRequest,
    then: @Sendable (HTTPResponse) throws(TransferError) -> RemoteCall<Value>
  )
  /// Several at the same time, none of which needs another's answer; the answers are in their order.
  case askAll(
    [HTTPRequest],
    then: @Sendable ([HTTPResponse]) throws(TransferError) -> RemoteCall<Value>
  )
}

/// What to do with an answer.
package enum HTTPVerdict: Sendable, Equatable {
  /// It is for whoever asked, whatever its status.
  case accept
  /// Ask again later, unless that was done often enough: then the request fails so. A throttled
  /// remote is also asked less at the same time.
  case retry(TransferError, after: Duration?, isThrottled: Bool)
  /// The remote object has learned what was wrong: authorize and ask again at once, one time.
  case amend(TransferError)
}

/// Credentials that replace those of the configuration; each kind takes its own.
///
/// Nothing of it may be shown or written down.
package struct RemoteCredentials: Sendable {
  /// Of Firebase's user.
  package var idToken: String?
  /// Of PubNub's access manager or CometChat's user.
  package var authToken: String?
  /// Of OAuth.
  package var accessToken: String?
  /// Of S3, with the two below.
  package var accessKeyID: String?
  /// Of S3.
  package var secretAccessKey: String?
  /// Of S3's temporary credentials.
  package var sessionToken: String?

  /// None; set what is given.
  package init() {}
}

/// What a remote itself takes.
package struct RemoteLimits: Sendable, Equatable {
  /// The largest file in bytes; nil: none.
  package var maxFileSize: Int64?
  /// The most files of a message; nil: none.
  package var maxFileCount: Int?

  /// Makes limits.
  package init(maxFileSize: Int64? = nil, maxFileCount: Int? = nil) {
    self.maxFileSize = maxFileSize
    self.maxFileCount = maxFileCount
  }
}

/// A URL that is usable as it is.
package struct SignedURL: Sendable, Equatable {
  /// It may carry a signature: never to be logged.
  package var url: String
  /// Milliseconds since 1970 at which it stops working; nil where it does not.
  package var expiresMs: Int64?

  /// Makes a URL.
  package init(_ url: String, expiresMs: Int64? = nil) {
    self.url = url
    self.expiresMs = expiresMs
  }
}

/// A page of a channel's messages.
package struct HistoryPage: Sendable, Equatable {
  /// Oldest first.
  package var messages: [ChannelMessage]
  /// The `start` of the page before it; nil where there is none.
  package var more: Timetoken?

  /// Makes a page.
  package init(messages: [ChannelMessage], more: Timetoken?) {
    self.messages = messages
    self.more = more
  }
}

/// What a kind does not do.
extension HTTPRemote {
  private func unsupported(_ what: String) -> TransferError {
    TransferError(
      .unsupported,
      "This kind of remote cannot \(what); initialize lists what each remote can."
    )
  }

  /// Refused.
  package func replaceCredentials(by credentials: RemoteCredentials) throws(TransferError) {
    throw unsupported("take credentials")
  }

  /// None.
  package var ownLimits: RemoteLimits { RemoteLimits() }

  /// Nothing to ask for.
  package func learnLimits() -> RemoteCall<Void>? { nil }

  /// Asks nothing: only use can tell.
  package func examine(nowMs: Int64) throws(TransferError) -> RemoteCall<String> { .done("") }

  /// Refused.
  package func upload(_ spec: TransferSpec) throws(TransferError) -> any Backend {
    throw unsupported("store this")
  }

  /// Refused.
  package func download(_ spec: TransferSpec) throws(TransferError) -> any Backend {
    throw unsupported("fetch this")
  }

  /// Refused.
  package func reference(_ url: String) throws(TransferError) -> ObjectReference {
    throw unsupported("name objects by URL")
  }

  /// Refused.
  package func metadata(
    _ reference: ObjectReference
  ) throws(TransferError) -> RemoteCall<ObjectMetadata> {
    throw unsupported("hold objects")
  }

  /// Refused.
  package func update(
    _ reference: ObjectReference,
    _ patch: MetadataPatch
  ) throws(TransferError) -> RemoteCall<ObjectMetadata> {
    throw unsupported("hold objects")
  }

  /// Refused.
  package func url(
    of reference: ObjectReference,
    expiresIn: Int64?,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<SignedURL> {
    throw unsupported("hold objects")
  }

  /// Refused.
  package func delete(_ reference: ObjectReference) throws(TransferError) -> RemoteCall<Void> {
    throw unsupported("hold objects")
  }

  /// Refused.
  package func listObjects(
    below reference: ObjectReference,
    recursive: Bool,
    limit: Int,
    next: String?
  ) throws(TransferError) -> RemoteCall<ObjectPage> {
    throw unsupported("hold objects")
  }

  /// Any, as it is given.
  package func channel(_ name: String) throws(TransferError) -> String { name }

  /// Refused.
  package func listFiles(
    channel: String,
    limit: Int,
    next: String?
  ) throws(TransferError) -> RemoteCall<FilePage> {
    throw unsupported("list the files of channels")
  }

  /// Refused.
  package func fileURL(
    channel: String,
    id: String,
    name: String,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<String> {
    throw unsupported("give URLs of channels' files")
  }

  /// Refused.
  package func deleteFile(
    channel: String,
    id: String,
    name: String
  ) throws(TransferError) -> RemoteCall<Void> {
    throw unsupported("remove channels' files")
  }

  /// Refused.
  package func announce(
    _ announcement: Announcement,
    nowMs: Int64
  ) throws(TransferError) -> RemoteCall<Timetoken> {
    throw unsupported("announce files")
  }

  /// Refused.
  package func complete(_ message: MediaMessage) throws(TransferError) -> MediaMessage {
    throw unsupported("send media messages")
  }

  /// Refused.
  package func send(_ message: MediaMessage) throws(TransferError) -> RemoteCall<Timetoken> {
    throw unsupported("send media messages")
  }

  /// Left to the history.
  package func find(
    _ message: AskedMessage
  ) throws(TransferError) -> RemoteCall<MessageFinding>? { nil }

  /// Refused.
  package func history(
    channel: String,
    limit: Int,
    start: Timetoken?,
    end: Timetoken?,
    cipherKey: Secret?
  ) throws(TransferError) -> RemoteCall<HistoryPage> {
    throw unsupported("keep messages")
  }

  /// Refused.
  package func message(
    channel: String,
    timetoken: Timetoken
  ) throws(TransferError) -> RemoteCall<ChannelMessage> {
    throw unsupported("keep messages")
  }

  /// Refused.
  package func deleteMessage(
    channel: String,
    timetoken: Timetoken
  ) throws(TransferError) -> RemoteCall<Void> {
    throw unsupported("remove messages")
  }

  /// Refused.
  package func feed() throws(TransferError) -> any SubscriptionFeed {
    throw unsupported("be subscribed to")
  }
}
