import CLinux
import Glibc
import LocalFiles
import SQLite
import TransferModel

/// Content below `content/` follows the index: linked before the row that names it commits,
/// unlinked after the row is gone; a kill in between leaves a part or a garbage row to tell.
extension Index {
  /// Gives staged content its place; undone when the job or the transaction fails.
  ///
  /// It must have `size` bytes: a wrong count shows here and not to those who download.
  func link(_ staging: Staging, size: Int64) throws(TransferError) {
    var info = stat()
    guard fstat(staging.descriptor, &info) == 0, Int64(info.st_size) == size else {
      throw TransferError(
        .unknown,
        "content \(staging.id) has \(info.st_size) bytes and should have \(size): "
          + "send it again"
      )
    }
    let shard = layout.shard(staging.id)
    if try StoreLayout.makeFolder(shard) { effects.folders.insert(layout.content) }
    let path = layout.content(staging.id)
    guard Glibc.link(staging.path, path) == 0 else {
      throw .fromErrno(errno, doing: "publish", path: path)
    }
    effects.linked.append(staging.id)
    effects.folders.insert(shard)
  }

  /// Notes that no row names the content any more.
  func remove(content id: String) throws(TransferError) {
    try mapped { () throws(SQLiteError) in
      try database.run("INSERT OR IGNORE INTO garbage VALUES (?)", .text(id))
    }
    effects.removed.append(id)
  }

  /// Unlinks what the committed transaction removed; readers that hold it open keep it.
  func removeUnnamed() {
    unlinkContent(effects.removed[...])
    cleared += effects.removed
  }

  /// Drops the rows of content that is unlinked, inside a transaction that writes anyway.
  func dropGarbageRows() throws(TransferError) {
    guard !cleared.isEmpty else { return }
    try mapped { () throws(SQLiteError) in
      for id in cleared { try database.run("DELETE FROM garbage WHERE content = ?", .text(id)) }
    }
    cleared = []
  }

  func unlinkContent(_ ids: ArraySlice<String>) {
    // What cannot be unlinked now is found again by its part or its garbage row.
    for id in ids { unlink(layout.content(id)) }
  }

  /// Removes what processes that died have left; the exclusive lock is held.
  func sweep() throws(TransferError) {
    for id in try partIDs() { try sweepPart(id) }
    try mapped { () throws(SQLiteError) in
      let ids = try database.all("SELECT content FROM garbage") { $0.text(0) }
      guard !ids.isEmpty else { return }
      unlinkContent(ids[...])
      try database.run("DELETE FROM garbage")
    }
  }

  private func partIDs() throws(TransferError) -> [String] {
    guard let folder = opendir(layout.incoming) else {
      throw .fromErrno(errno, doing: "read the folder", path: layout.incoming)
    }
    defer { closedir(folder) }
    var ids: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      let id = name.prefix(32)
      // Anything else was not put there by a store and stays.
      if ContentID.isValid(id), name == "\(id).part" { ids.append(String(id)) }
    }
    return ids
  }

  /// Removes a part whose owner is dead and, unless the index names it, its content.
  ///
  /// A large part stays for a day: its transfer may be resumed.
  private func sweepPart(_ id: String) throws(TransferError) {
    let path = layout.part(id)
    let part = clinux_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0)
    guard part >= 0 else { return }
    defer { close(part) }
    guard clinux_flock(part, LOCK_EX | LOCK_NB) == 0 else { return }
    let isNamed = try mapped { () throws(SQLiteError) in
      try database.first(
        "SELECT 1 FROM object WHERE content = ? UNION ALL SELECT 1 FROM file WHERE id = ?",
        .text(id),
        .text(id)
      ) { _ in true } ?? false
    }
    if !isNamed {
      unlink(layout.content(id))
      if Self.mayBeResumed(part) { return }
    }
    unlink(path)
  }

  private static func mayBeResumed(_ part: Int32) -> Bool {
    var info = stat()
    guard fstat(part, &info) == 0 else { return false }
    return info.st_size > 1 << 20 && time(nil) - info.st_mtim.tv_sec < 24 * 3600
  }

  /// What became of content that was staged under an id.
  func recover(_ id: String) throws(TransferError) -> RecoveredContent {
    let path = try mapped { () throws(SQLiteError) in
      try database.first("SELECT path FROM object WHERE content = ?", .text(id)) { $0.text(0) }
    }
    if let path { return .object(try object(path)) }
    let found = try mapped { () throws(SQLiteError) in
      try database.first(
        "SELECT channel, name, announced FROM file WHERE id = ?",
        .text(id)
      ) { row in
        (FileKey(channel: row.text(0), id: id, name: row.text(1)), row.optionalInteger(2))
      }
    }
    guard let (key, announced) = found else { return .nothing }
    return .file(try file(key).file, announced: announced.map { Timetoken($0) })
  }
}
