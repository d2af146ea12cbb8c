/// What an attachment is shown as, by its MIME type.
package enum AttachmentKind: String, Sendable, CaseIterable {
  case image, video, audio, file

  /// The kind of a MIME type.
  package init(contentType: String) {
    let family = contentType.lowercased().split(separator: "/").first.map(String.init) ?? ""
    self = family == Self.file.rawValue ? .file : Self(rawValue: family) ?? .file
  }
}
