import SQLite
import TransferModel

extension Index {
  /// Makes staged content a file of a channel; the same name may be there many times.
  func publishFile(_ staging: Staging, _ file: NewFile) throws(TransferError) -> SharedFile {
    let shared = SharedFile(
      id: staging.id,
      name: file.name,
      size: file.size,
      contentType: file.contentType,
      sha256: file.sha256,
      createdMs: Clock.milliseconds()
    )
    try link(staging, size: file.size)
    try mapped { () throws(SQLiteError) in
      try database.run(
        """
        INSERT INTO file (channel, id, name, size, content_type, sha256, created)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        .text(file.channel),
        .text(shared.id),
        .text(shared.name),
        .integer(file.size),
        .optional(shared.contentType),
        .optional(shared.sha256),
        .optional(shared.createdMs)
      )
    }
    return shared
  }

  /// A file by its channel, id and name, which must all be right.
  ///
  /// - Throws: `ERR_NOT_FOUND`.
  func file(
    _ key: FileKey
  ) throws(TransferError) -> (file: SharedFile, size: Int64) {
    let found = try mapped { () throws(SQLiteError) in
      try database.first(
        """
        SELECT size, content_type, sha256, created FROM file
        WHERE id = ? AND channel = ? AND name = ?
        """,
        .text(key.id),
        .text(key.channel),
        .text(key.name)
      ) { row in
        let file = SharedFile(
          id: key.id,
          name: key.name,
          size: row.integer(0),
          contentType: row.optionalText(1),
          sha256: row.optionalText(2),
          createdMs: row.integer(3)
        )
        return (file, row.integer(0))
      }
    }
    guard let found else {
      throw TransferError(
        .notFound,
        "channel \"\(key.channel)\" has no file with the id \(key.id) and the name "
          + "\"\(key.name)\"; file/list shows those there are"
      )
    }
    return found
  }

  /// The file that a URL of this store leads to.
  func fileKey(url: String) throws(TransferError) -> FileKey {
    let id = ObjectReference.lastComponent(of: url)
    guard url == layout.url(id) else {
      throw TransferError(
        .invalidReference,
        "the URL is none of this remote's: use one that file/url gave",
        field: "/url"
      )
    }
    let key = try mapped { () throws(SQLiteError) in
      try database.first("SELECT channel, name FROM file WHERE id = ?", .text(id)) { row in
        FileKey(channel: row.text(0), id: id, name: row.text(1))
      }
    }
    guard let key else {
      throw TransferError(.notFound, "the URL leads to no file: it was deleted")
    }
    return key
  }

  /// The file that a message announced.
  func fileKey(
    _ channel: String,
    _ timetoken: Timetoken
  ) throws(TransferError) -> FileKey {
    guard let file = try message(channel, timetoken).file else {
      throw TransferError(.notFound, "message \(channel):\(timetoken) announces no file")
    }
    return FileKey(channel: channel, id: file.id, name: file.name)
  }

  /// Removes a file and its content; what was announced of it stays in the history.
  func deleteFile(_ key: FileKey) throws(TransferError) {
    _ = try file(key)
    try mapped { () throws(SQLiteError) in
      try database.run("DELETE FROM file WHERE id = ?", .text(key.id))
    }
    try remove(content: key.id)
  }

  /// One page of a channel's files, oldest first.
  func listFiles(
    _ channel: String,
    limit: Int,
    next: String?
  ) throws(TransferError) -> FilePage {
    var after: Int64 = 0
    if let next {
      guard next.utf8.first == UInt8(ascii: "f"), let number = Int64(next.dropFirst()),
        number >= 0
      else { throw .wrongNext }
      after = number
    }
    var rows = try mapped { () throws(SQLiteError) in
      try database.all(
        """
        SELECT seq, id, name, size, content_type, sha256, created FROM file
        WHERE channel = ? AND seq > ? ORDER BY seq LIMIT ?
        """,
        .text(channel),
        .integer(after),
        .integer(Int64(limit) + 1)
      ) { row in
        let file = SharedFile(
          id: row.text(1),
          name: row.text(2),
          size: row.integer(3),
          contentType: row.optionalText(4),
          sha256: row.optionalText(5),
          createdMs: row.integer(6)
        )
        return (number: row.integer(0), file: file)
      }
    }
    guard rows.count > limit else { return FilePage(files: rows.map(\.file), next: nil) }
    rows.removeLast()
    return FilePage(files: rows.map(\.file), next: rows.last.map { "f\($0.number)" })
  }
}

/// What names a file of a channel.
struct FileKey: Sendable {
  var channel: String
  var id: String
  var name: String
}
