package import JSON

/// A message that shows several files at once, on remotes that have such.
package struct MediaMessage: Sendable, Equatable {
  /// Where it is told.
  package var channel: String
  /// What it is shown as.
  package var kind: AttachmentKind
  /// At least one, in the order they are shown.
  package var attachments: [Attachment]
  /// The text beside the files.
  package var caption: String?
  /// The sender's own, a JSON object kept byte for byte.
  package var metadata: RawJSON?
  /// Words to find it by.
  package var tags: [String]
  /// Tells it from every other of its sender, so that one whose answer was lost is found again.
  ///
  /// Nil: the remote makes one of the first file.
  package var muid: String?
  /// The message it answers in its thread.
  package var parent: Timetoken?

  /// Makes a message.
  package init(
    channel: String,
    kind: AttachmentKind,
    attachments: [Attachment],
    caption: String? = nil,
    metadata: RawJSON? = nil,
    tags: [String] = [],
    muid: String? = nil,
    parent: Timetoken? = nil
  ) {
    self.channel = channel
    self.kind = kind
    self.attachments = attachments
    self.caption = caption
    self.metadata = metadata
    self.tags = tags
    self.muid = muid
    self.parent = parent
  }
}

/// A file that is stored, as a message shows it.
package struct Attachment: Sendable, Equatable {
  /// As the remote has it.
  package var file: SharedFile
  /// Where it can be had; it may carry a signature: never to be logged.
  package var url: String

  /// Makes an attachment.
  package init(_ file: SharedFile, url: String) {
    self.file = file
    self.url = url
  }
}

extension SharedFile {
  /// What follows the last dot of a name, in lower case, unless that is its first character or
  /// nothing follows.
  package static func pathExtension(of name: String) -> String {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
    return String(name[name.index(after: dot)...]).lowercased()
  }
}
