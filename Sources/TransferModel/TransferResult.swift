/// What a transfer that succeeded has to tell.
package enum TransferResult: Sendable, Equatable {
  case stored(StoredObject)
  case shared(SharedUpload)
  case downloaded(Download)

  /// An object that was put.
  package struct StoredObject: Sendable, Equatable {
    /// As the remote has it now.
    package var metadata: ObjectMetadata
    /// Where it can be had, usable as it is; nil where the remote gives none unasked.
    package var url: String?

    /// Makes a result.
    package init(metadata: ObjectMetadata, url: String?) {
      self.metadata = metadata
      self.url = url
    }
  }

  /// A file that was stored on a channel.
  package struct SharedUpload: Sendable, Equatable {
    /// Where it is, and is announced.
    package var channel: String
    /// As the remote has it now.
    package var file: SharedFile
    /// Of the announcement; nil while it is not announced.
    package var timetoken: Timetoken?
    /// Where it can be had, usable as it is; nil where the remote gives none unasked.
    package var url: String?

    /// Makes a result.
    package init(channel: String, file: SharedFile, timetoken: Timetoken?, url: String?) {
      self.channel = channel
      self.file = file
      self.timetoken = timetoken
      self.url = url
    }
  }

  /// Content that was fetched.
  package struct Download: Sendable, Equatable {
    /// The file it is in; nil for inline content and streams.
    package var path: String?
    /// Whether the file goes when the transfer is forgotten.
    package var isTemporary: Bool
    /// Bytes.
    package var size: Int64
    /// Lower-case hexadecimal; nil where no digest was asked for.
    package var sha256: String?
    /// Of the object, for `object/get`.
    package var metadata: ObjectMetadata?
    /// The content itself, for inline targets.
    package var data: [UInt8]?

    /// Makes a result.
    package init(
      path: String?,
      isTemporary: Bool,
      size: Int64,
      sha256: String?,
      metadata: ObjectMetadata?,
      data: [UInt8]?
    ) {
      self.path = path
      self.isTemporary = isTemporary
      self.size = size
      self.sha256 = sha256
      self.metadata = metadata
      self.data = data
    }
  }
}
