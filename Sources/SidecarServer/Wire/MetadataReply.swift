internal import JSON
internal import TransferModel

/// `{metadata}`.
struct MetadataReply: Reply {
  let metadata: ObjectMetadata
  let bucket: String

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.metadata("metadata", metadata, bucket: bucket)
    writer.endObject()
  }
}
