package import JSON

/// One movement of bytes as a host asked for it.
package struct TransferSpec: Sendable {
  /// Chosen by the host or made by ferry; unique in a process.
  package var id: TransferID
  /// The remote's name in the configuration.
  package var remote: String
  /// What is moved, from where, to where.
  package var operation: TransferOperation
  /// Whether a whole-object sha256 is computed and, on downloads, compared.
  package var computesDigest: Bool
  /// Whether progress notifications are wanted.
  package var reportsProgress: Bool
  /// The request in canonical form; two requests with the same id join when this is equal.
  package var origin: TransferOrigin
  /// Where the request's relative paths start.
  package var root: String
  /// The batch it is part of; nil for one of its own.
  package var batchFile: BatchFile?

  /// Makes a spec.
  package init(
    id: TransferID,
    remote: String,
    operation: TransferOperation,
    computesDigest: Bool,
    reportsProgress: Bool,
    origin: TransferOrigin,
    root: String
  ) {
    self.id = id
    self.remote = remote
    self.operation = operation
    self.computesDigest = computesDigest
    self.reportsProgress = reportsProgress
    self.origin = origin
    self.root = root
  }

  /// Which way the bytes go.
  package var direction: TransferDirection {
    switch operation {
    case .putObject, .sendFile: .upload
    case .getObject, .downloadFile: .download
    }
  }

  /// Whether it ends with an announcement, and its errors tell what is stored.
  package var announces: Bool {
    switch operation {
    case .sendFile(let send): send.announces
    case .putObject, .getObject, .downloadFile: false
    }
  }

  /// Whether it came with a key of its own, which is never written down.
  package var hasCipherKey: Bool {
    switch operation {
    case .sendFile(let send): send.announcement.cipherKey != nil
    case .downloadFile(let download): download.cipherKey != nil
    case .putObject, .getObject: false
    }
  }

  /// Whether the host sets its pace.
  package var isStream: Bool { source?.isStream ?? (target == .stream) }

  /// Where an upload's bytes come from; nil for downloads.
  package var source: TransferSource? {
    switch operation {
    case .putObject(let put): put.source
    case .sendFile(let send): send.source
    case .getObject, .downloadFile: nil
    }
  }

  /// The same transfer with its bytes elsewhere.
  package func reading(from source: TransferSource) -> TransferSpec {
    var spec = self
    switch operation {
    case .putObject(var put):
      put.source = source
      spec.operation = .putObject(put)
    case .sendFile(var send):
      send.source = source
      spec.operation = .sendFile(send)
    case .getObject, .downloadFile:
      break
    }
    return spec
  }

  /// Where a download's bytes go; nil for uploads.
  package var target: TransferTarget? {
    switch operation {
    case .putObject, .sendFile: nil
    case .getObject(let get): get.target
    case .downloadFile(let download): download.target
    }
  }

  /// The object concerned; nil for files on channels.
  package var reference: ObjectReference? {
    switch operation {
    case .putObject(let put): put.reference
    case .getObject(let get): get.reference
    case .sendFile, .downloadFile: nil
    }
  }

  /// The channel concerned; nil for objects.
  package var channel: String? {
    switch operation {
    case .putObject, .getObject: nil
    case .sendFile(let send): send.channel
    case .downloadFile(let download): download.locator.channel
    }
  }
}

/// The request a transfer came from, kept to tell whether another one means the same.
package struct TransferOrigin: Sendable, Equatable {
  /// The RPC method, such as `object/put`.
  package var method: String
  /// Canonical JSON without `detach`, `progress`, `data` and `text`.
  package var params: RawJSON
  /// Device, inode, size and mtime of a path; the digest of data; empty for streams.
  package var sourceIdentity: String

  /// Makes an origin.
  package init(method: String, params: RawJSON, sourceIdentity: String) {
    self.method = method
    self.params = params
    self.sourceIdentity = sourceIdentity
  }
}

/// What a transfer does.
package enum TransferOperation: Sendable {
  case putObject(PutObject)
  case sendFile(SendFile)
  case getObject(GetObject)
  case downloadFile(DownloadFile)
}

/// Stores an object below a reference.
package struct PutObject: Sendable {
  /// Where it is stored; never the root.
  package var reference: ObjectReference
  /// Metadata stored with the content.
  package var settable: SettableMetadata
  /// What must hold of the object that is there, tested as it is replaced.
  package var condition: WriteCondition
  /// Where the bytes come from.
  package var source: TransferSource

  /// Makes a put.
  package init(
    reference: ObjectReference,
    settable: SettableMetadata,
    condition: WriteCondition,
    source: TransferSource
  ) {
    self.reference = reference
    self.settable = settable
    self.condition = condition
    self.source = source
  }
}

/// Stores a file on a channel and, unless that is left to later, announces it.
package struct SendFile: Sendable {
  /// Where it is stored and announced.
  package var channel: String
  /// The name subscribers see.
  package var name: String
  /// A MIME type.
  package var contentType: String
  /// What subscribers are told; its file id is filled in once the remote gave one.
  package var announcement: Announcement
  /// Where the bytes come from.
  package var source: TransferSource
  /// Whether it is announced once it is stored.
  package var announces = true
  /// The message it answers in its thread, where the remote has threads.
  package var parent: Timetoken?

  /// Makes a send.
  package init(
    channel: String,
    name: String,
    contentType: String,
    announcement: Announcement,
    source: TransferSource
  ) {
    self.channel = channel
    self.name = name
    self.contentType = contentType
    self.announcement = announcement
    self.source = source
  }
}

/// Fetches an object or a half-open range of its bytes.
package struct GetObject: Sendable {
  /// The object; never the root.
  package var reference: ObjectReference
  /// The part wanted; nil for all of it.
  package var range: ByteRange?
  /// Where the bytes go.
  package var target: TransferTarget

  /// Makes a get.
  package init(reference: ObjectReference, range: ByteRange?, target: TransferTarget) {
    self.reference = reference
    self.range = range
    self.target = target
  }
}

/// Fetches a file of a channel.
package struct DownloadFile: Sendable {
  /// Which file.
  package var locator: FileLocator
  /// Where the bytes go.
  package var target: TransferTarget
  /// Decrypts this file alone, instead of the remote's own cipher; never written down, and empty
  /// where it was not kept over a restart.
  package var cipherKey: Secret?
  /// Which file of a message that shows several; nil: the first.
  package var fileID: String?

  /// Makes a download.
  package init(
    _ locator: FileLocator,
    target: TransferTarget,
    cipherKey: Secret? = nil,
    fileID: String? = nil
  ) {
    self.fileID = fileID
    self.locator = locator
    self.target = target
    self.cipherKey = cipherKey
  }
}

/// The three ways to name a file that was shared.
package enum FileLocator: Sendable, Equatable {
  case key(channel: String, id: String, name: String)
  /// As the remote gave it.
  case url(String)
  /// The message that announced it.
  case message(channel: String, Timetoken)

  /// The channel, where the locator names it.
  package var channel: String? {
    switch self {
    case .key(let channel, _, _), .message(let channel, _): channel
    case .url: nil
    }
  }
}

/// A part of an object: from `offset`, `length` bytes or, where nil, to its end.
package struct ByteRange: Sendable, Equatable {
  /// Bytes before it, from 0.
  package var offset: Int64
  /// Bytes; nil to the end.
  package var length: Int64?

  /// Makes a range.
  package init(offset: Int64, length: Int64?) {
    self.offset = offset
    self.length = length
  }
}

/// Where an upload's bytes come from.
package enum TransferSource: Sendable, Equatable {
  /// An absolute path.
  case path(String)
  case bytes([UInt8])
  /// Content of the request that ferry keeps in a file of its own.
  case spool(path: String)
  /// Written by the host piece by piece; the size in bytes where it is known.
  case stream(size: Int64?)

  /// Whether the host sets the pace.
  package var isStream: Bool {
    switch self {
    case .stream: true
    case .path, .bytes, .spool: false
    }
  }
}

/// Where a download's bytes go.
package enum TransferTarget: Sendable, Equatable {
  /// An absolute path; an existing file is replaced only with `overwrite`.
  case path(String, overwrite: Bool)
  /// A file of ferry's own, removed when the transfer is forgotten.
  case temporary
  /// The reply itself, up to a number of bytes.
  case inline(maxSize: Int64)
  /// Read by the host piece by piece.
  case stream
}
