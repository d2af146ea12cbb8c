internal import JSON
internal import TransferModel

extension JSONWriter {
  /// An object's metadata as the remote knows it.
  ///
  /// Where the storage has no name of its own, the remote's is its bucket's.
  mutating func metadata(_ name: StaticString, _ metadata: ObjectMetadata, bucket remote: String) {
    object(name) { writer in
      writer.field("name", metadata.name)
      writer.field("fullPath", metadata.fullPath)
      writer.field("bucket", metadata.bucket ?? remote)
      writer.field("size", metadata.size)
      writer.settable(metadata.settable)
      writer.field("created", Time.text(metadata.createdMs))
      writer.field("updated", Time.text(metadata.updatedMs))
      writer.field("etag", metadata.etag)
      writer.field("md5", metadata.md5)
      writer.field("sha256", metadata.sha256)
      writer.field("generation", quoting: metadata.generation)
      writer.object("custom") { writer in
        for (key, value) in metadata.settable.custom.sorted(by: { $0.key < $1.key }) {
          writer.field(named: key.text, value)
        }
      }
    }
  }

  /// An object's metadata as its uploader gave it.
  mutating func settableMetadata(_ name: StaticString, _ settable: SettableMetadata) {
    object(name) { writer in
      writer.settable(settable)
      writer.object("custom") { writer in
        for (key, value) in settable.custom.sorted(by: { $0.key < $1.key }) {
          writer.field(named: key.text, value)
        }
      }
    }
  }

  private mutating func settable(_ settable: SettableMetadata) {
    field("contentType", settable.contentType)
    field("cacheControl", settable.cacheControl)
    field("contentDisposition", settable.contentDisposition)
    field("contentEncoding", settable.contentEncoding)
    field("contentLanguage", settable.contentLanguage)
  }
}
