package import JSON

/// A file shared on a channel.
package struct SharedFile: Sendable, Equatable {
  /// Given by the remote.
  package var id: String
  /// As the sender named it; never to be used as a path unchecked.
  package var name: String
  /// Bytes; nil where the remote does not say.
  package var size: Int64?
  /// A MIME type; nil where the remote does not say.
  package var contentType: String?
  /// Lower-case hexadecimal, where known.
  package var sha256: String?
  /// Milliseconds since 1970.
  package var createdMs: Int64?

  /// Makes a file as a remote reports it.
  package init(
    id: String,
    name: String,
    size: Int64? = nil,
    contentType: String? = nil,
    sha256: String? = nil,
    createdMs: Int64? = nil
  ) {
    self.id = id
    self.name = name
    self.size = size
    self.contentType = contentType
    self.sha256 = sha256
    self.createdMs = createdMs
  }
}

/// One page of a channel's files.
package struct FilePage: Sendable, Equatable {
  /// In the remote's own order; `local`: as they were sent.
  package var files: [SharedFile]
  /// Where the next page starts; nil on the last.
  package var next: String?

  /// Makes a page.
  package init(files: [SharedFile], next: String?) {
    self.files = files
    self.next = next
  }
}

/// What is told to a channel's subscribers about a file.
package struct Announcement: Sendable, Equatable {
  /// Where it is told.
  package var channel: String
  /// The id the remote gave the file; empty until it is stored.
  package var fileID: String
  /// The name subscribers see.
  package var fileName: String
  /// The host's own content, kept byte for byte.
  package var message: RawJSON?
  /// Metadata beside the message, kept byte for byte.
  package var meta: RawJSON?
  /// Whether history keeps it.
  package var store: Bool
  /// Whole hours that history keeps it; 0: the remote's own policy.
  package var ttlHours: Int64
  /// 3 to 50 of `A-Za-z0-9-_`, checked before any byte moves.
  package var customMessageType: String?
  /// Who sends it; shown to subscribers.
  package var publisher: String?
  /// Whether the remote's other data centres hear of it, where it has any.
  package var replicate: Bool
  /// The host's own parameters of the request that announces.
  package var query: [QueryParameter]
  /// Encrypts this file and its announcement alone, instead of the remote's own cipher; never
  /// written down, and empty where it was not kept over a restart.
  package var cipherKey: Secret?

  /// Makes an announcement.
  package init(
    channel: String,
    fileID: String,
    fileName: String,
    message: RawJSON? = nil,
    meta: RawJSON? = nil,
    store: Bool = true,
    ttlHours: Int64 = 0,
    customMessageType: String? = nil,
    publisher: String? = nil,
    replicate: Bool = true,
    query: [QueryParameter] = [],
    cipherKey: Secret? = nil
  ) {
    self.replicate = replicate
    self.query = query
    self.cipherKey = cipherKey
    self.channel = channel
    self.fileID = fileID
    self.fileName = fileName
    self.message = message
    self.meta = meta
    self.store = store
    self.ttlHours = ttlHours
    self.customMessageType = customMessageType
    self.publisher = publisher
  }
}

/// A parameter of a request that a host adds.
package struct QueryParameter: Sendable, Equatable {
  /// Not yet encoded.
  package var name: String
  /// Not yet encoded.
  package var value: String

  /// Makes a parameter.
  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// A message as a channel's subscriber or its history gets it.
package struct ChannelMessage: Sendable, Equatable {
  /// Where it was told.
  package var channel: String
  /// When the remote took it in; orders the messages of a channel.
  package var timetoken: Timetoken
  /// Who sent it, where the sender said.
  package var publisher: String?
  /// The sender's own kind of message.
  package var customMessageType: String?
  /// The host's content, as it was sent.
  package var message: RawJSON?
  /// The host's metadata, as it was sent.
  package var meta: RawJSON?
  /// The file it announces.
  package var file: SharedFile?
  /// Where the file can be had, usable as it is.
  package var fileURL: String?
  /// All files it shows, where it may show several; `file` is the first.
  package var attachments: [Attachment]
  /// Milliseconds since 1970 at which it was sent, where the timetoken does not say.
  package var sentMs: Int64?
  /// What it is.
  package var kind: Kind
  /// The group or wildcard it came by, where it is not the channel itself.
  package var subscription: String?
  /// Why it could not be read; the content is then as it came.
  package var error: TransferError?
  /// Whether a subscriber was told of a message, or of a start, that comes after it in the order.
  package var isLate: Bool

  /// What a message is.
  package enum Kind: String, Sendable, CaseIterable {
    case file, message, signal, object, messageAction, presence
  }

  /// Makes a message; one with a file announces it.
  package init(
    channel: String,
    timetoken: Timetoken,
    publisher: String? = nil,
    customMessageType: String? = nil,
    message: RawJSON? = nil,
    meta: RawJSON? = nil,
    file: SharedFile? = nil,
    fileURL: String? = nil,
    attachments: [Attachment] = [],
    sentMs: Int64? = nil,
    kind: Kind? = nil,
    subscription: String? = nil,
    error: TransferError? = nil,
    isLate: Bool = false
  ) {
    self.isLate = isLate
    let file = file ?? attachments.first?.file
    self.attachments = attachments
    self.sentMs = sentMs
    self.kind = kind ?? (file == nil ? .message : .file)
    self.subscription = subscription
    self.error = error
    self.channel = channel
    self.timetoken = timetoken
    self.publisher = publisher
    self.customMessageType = customMessageType
    self.message = message
    self.meta = meta
    self.file = file
    self.fileURL = fileURL ?? attachments.first?.url
  }
}
