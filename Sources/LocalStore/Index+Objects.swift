import JSON
import SQLite
import TransferModel

extension Index {
  /// Makes staged content an object where the condition holds.
  func publishObject(
    _ staging: Staging,
    _ object: NewObject,
    condition: WriteCondition
  ) throws(TransferError) -> ObjectMetadata {
    let path = object.reference.fullPath
    let old = try storedObject(path)
    try check(condition, against: old?.etag, path: path)
    let now = Clock.milliseconds()
    let metadata = ObjectMetadata(
      fullPath: path,
      size: object.size,
      settable: object.settable,
      createdMs: now,
      updatedMs: now,
      etag: staging.id,
      sha256: object.sha256,
      // Microseconds, as Firebase counts: it rises over a deletion too.
      generation: max((old?.generation ?? 0) + 1, Clock.timetoken() / 10)
    )
    try link(staging, size: object.size)
    if let old { try remove(content: old.etag) }
    try write(metadata)
    return metadata
  }

  /// What is known of an object.
  ///
  /// - Throws: `ERR_NOT_FOUND`.
  func object(_ path: String) throws(TransferError) -> ObjectMetadata {
    guard let found = try storedObject(path) else {
      throw TransferError(
        .notFound,
        "there is no object \"\(path)\"; object/list shows those there are",
        field: "/ref"
      )
    }
    return found
  }

  /// Changes what the uploader said of an object.
  func updateObject(
    _ path: String,
    _ patch: MetadataPatch
  ) throws(TransferError) -> ObjectMetadata {
    var metadata = try object(path)
    metadata.settable = patch.applied(to: metadata.settable)
    metadata.updatedMs = Clock.milliseconds()
    try write(metadata)
    return metadata
  }

  /// Removes an object and its content.
  func deleteObject(_ path: String) throws(TransferError) {
    let metadata = try object(path)
    try mapped { () throws(SQLiteError) in
      try database.run("DELETE FROM object WHERE path = ?", .text(path))
    }
    try remove(content: metadata.etag)
  }

  private func check(
    _ condition: WriteCondition,
    against etag: String?,
    path: String
  ) throws(TransferError) {
    if let wanted = condition.ifNoneMatch, let etag, wanted == "*" || wanted == etag {
      throw TransferError(
        .preconditionFailed,
        wanted == "*"
          ? "there is an object \(path) already, and ifNoneMatch * asked for none"
          : "the object \(path) has the ETag \(etag) that ifNoneMatch excludes"
      )
    }
    if let wanted = condition.ifMatch, etag == nil || (wanted != "*" && wanted != etag) {
      throw TransferError(
        .preconditionFailed,
        etag.map { "the object \(path) has the ETag \($0) and ifMatch asked for \(wanted)" }
          ?? "there is no object \(path) and ifMatch asked for \(wanted)"
      )
    }
  }

  private func storedObject(_ path: String) throws(TransferError) -> ObjectMetadata? {
    try mapped { () throws(SQLiteError) in
      let found = try database.first(
        """
        SELECT content, size, content_type, cache_control, content_disposition, content_encoding,
          content_language, created, updated, sha256, generation FROM object WHERE path = ?
        """,
        .text(path)
      ) { row in
        var settable = SettableMetadata(contentType: row.text(2))
        settable.cacheControl = row.optionalText(3)
        settable.contentDisposition = row.optionalText(4)
        settable.contentEncoding = row.optionalText(5)
        settable.contentLanguage = row.optionalText(6)
        return ObjectMetadata(
          fullPath: path,
          size: row.integer(1),
          settable: settable,
          createdMs: row.integer(7),
          updatedMs: row.integer(8),
          etag: row.text(0),
          sha256: row.optionalText(9),
          generation: row.integer(10)
        )
      }
      guard var metadata = found else { return nil }
      let custom = try database.all(
        "SELECT key, value FROM custom WHERE path = ?",
        .text(path)
      ) { ($0.text(0), $0.text(1)) }
      for (key, value) in custom { metadata.settable.custom[key] = value }
      return metadata
    }
  }

  private func write(_ metadata: ObjectMetadata) throws(TransferError) {
    let settable = metadata.settable
    let path = SQLValue.text(metadata.fullPath)
    try mapped { () throws(SQLiteError) in
      // REPLACE deletes the old row first, and with it its custom metadata.
      try database.run(
        """
        INSERT OR REPLACE INTO object (path, content, size, content_type, cache_control,
          content_disposition, content_encoding, content_language, created, updated, sha256,
          generation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        path,
        .text(metadata.etag),
        .integer(metadata.size),
        .text(settable.contentType),
        .optional(settable.cacheControl),
        .optional(settable.contentDisposition),
        .optional(settable.contentEncoding),
        .optional(settable.contentLanguage),
        .integer(metadata.createdMs),
        .integer(metadata.updatedMs),
        .optional(metadata.sha256),
        .optional(metadata.generation)
      )
      for (key, value) in settable.custom {
        try database.run("INSERT INTO custom VALUES (?, ?, ?)", path, .text(key.text), .text(value))
      }
    }
  }
}
