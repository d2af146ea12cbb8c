import JSON
import SQLite
import TransferModel

// MARK: - Writing, inside a transaction

extension JournalFile {
  private static let insertion = """
    INSERT OR REPLACE INTO transfer (\(JournalSchema.columns.joined(separator: ", ")))
    VALUES (\(JournalSchema.columns.map { _ in "?" }.joined(separator: ", ")))
    """

  /// Writes a row, in place of one of the same id.
  func insert(_ row: JournalRow, at now: Int64) throws(SQLiteError) {
    words[HeldIDs.word(row.id.description)] = false
    try database.run(
      Self.insertion,
      values: [
        .text(row.id.description), .integer(row.number), .text(row.origin.method),
        .blob(row.origin.params.bytes), .text(row.origin.sourceIdentity), .text(row.remote),
        .text(row.direction.rawValue), .text(row.state.rawValue), .integer(Int64(row.attempt)),
        .integer(row.loaded), .optional(row.total), .optional(row.spool),
        .optional(row.progress), .optional(row.snapshot), .optional(row.payload), .integer(now),
        .integer(run),
      ]
    )
  }

  /// Sets some columns of a row; false where there is no such row.
  func update(
    _ id: TransferID,
    _ update: JournalUpdate,
    at now: Int64
  ) throws(SQLiteError) -> Bool {
    var columns = ["updated"]
    var values = [SQLValue.integer(now)]
    func set(_ column: String, _ value: SQLValue?) {
      guard let value else { return }
      columns.append(column)
      values.append(value)
    }
    set("state", update.state.map { .text($0.rawValue) })
    set("run", update.state.map { _ in .integer(run) })
    set("attempt", update.attempt.map { .integer(Int64($0)) })
    set("loaded", update.loaded.map { .integer($0) })
    set("total", update.total.map { .optional($0) })
    set("payload", update.payload.map { .optional($0) })
    set("spool", update.spool.map { .optional($0) })
    set("progress", update.progress.map { .optional($0) })
    set("snapshot", update.snapshot.map { .optional($0) })
    let assignments = columns.map { "\($0) = ?" }.joined(separator: ", ")
    values.append(.text(id.description))
    try database.run("UPDATE transfer SET \(assignments) WHERE id = ?", values: values)
    return database.changes > 0
  }

  /// Deletes a row; false where there is no such row.
  @discardableResult
  func delete(_ id: TransferID) throws(SQLiteError) -> Bool {
    try database.run("DELETE FROM transfer WHERE id = ?", .text(id.description))
    guard database.changes > 0 else { return false }
    words[HeldIDs.word(id.description)] = true
    hasLost = true
    return true
  }

  /// Writes the record of a batch, in place of one of the same id.
  func keep(batch id: String, _ record: [UInt8]) throws(SQLiteError) {
    try database.run("INSERT OR REPLACE INTO batch VALUES (?, ?)", .text(id), .blob(record))
  }

  /// Deletes the record of a batch.
  func delete(batch id: String) throws(SQLiteError) {
    try database.run("DELETE FROM batch WHERE id = ?", .text(id))
    if database.changes > 0 { hasLost = true }
  }
}

// MARK: - Reading

extension JournalFile {
  private static let selection =
    "SELECT \(JournalSchema.columns.joined(separator: ", ")) FROM transfer"

  /// Whether there is no row.
  func isEmpty() throws(SQLiteError) -> Bool {
    for table in ["transfer", "batch"]
    where try database.first("SELECT 1 FROM \(table)", row: { $0.integer(0) }) != nil {
      return false
    }
    return true
  }

  /// The batches and their records.
  func batches() throws(SQLiteError) -> [(id: String, record: [UInt8])] {
    try database.all("SELECT id, record FROM batch ORDER BY id") { row in
      (row.text(0), row.optionalBlob(1) ?? [])
    }
  }

  /// The row of an id.
  func row(_ id: TransferID) throws(SQLiteError) -> JournalRow? {
    try database.first("\(Self.selection) WHERE id = ?", .text(id.description)) { row($0) } ?? nil
  }

  /// The first rows behind a place, in their order; of one state where it is given.
  func rows(
    after cursor: JournalCursor,
    limit: Int,
    state: TransferState?
  ) throws(SQLiteError) -> [JournalRow] {
    // One that another process left unsettled shows as interrupted.
    let filter =
      switch state {
      case nil: ""
      case .interrupted:
        "AND (state = 'interrupted' OR run <> \(run) AND NOT \(JournalSchema.settled))"
      case .some(let state) where state.isSettled: "AND state = '\(state.rawValue)'"
      case .some(let state): "AND state = '\(state.rawValue)' AND run = \(run)"
      }
    return try database.all(
      """
      \(Self.selection) WHERE number >= ?1 AND (number, id) > (?1, ?2) \(filter)
      ORDER BY number, id LIMIT ?3
      """,
      .integer(cursor.number),
      .text(cursor.id),
      .integer(Int64(limit))
    ) { row($0) }.compactMap { $0 }
  }

  /// Ids, numbers of rows and times of the last change, of all rows.
  func ids() throws(SQLiteError) -> [(id: String, updated: Int64)] {
    try database.all("SELECT id, updated FROM transfer") { ($0.text(0), $0.integer(1)) }
  }

  /// The highest number; nil where there is no row.
  func lastNumber() throws(SQLiteError) -> Int64? {
    try database.first("SELECT max(number) FROM transfer") { $0.optionalInteger(0) } ?? nil
  }

  /// The last components of the spool files that rows name.
  func spools() throws(SQLiteError) -> Set<String> {
    Set(
      try database.all("SELECT spool FROM transfer WHERE spool IS NOT NULL") {
        ObjectReference.lastComponent(of: $0.text(0))
      }
    )
  }

  /// nil for what no version of this code writes.
  private func row(_ row: borrowing SQLRow) -> JournalRow? {
    guard let id = TransferID(row.text(0)),
      let direction = TransferDirection(rawValue: row.text(6)),
      var state = TransferState(rawValue: row.text(7))
    else { return nil }
    if !state.isSettled, row.integer(16) != run { state = .interrupted }
    var result = JournalRow(
      id: id,
      number: row.integer(1),
      origin: TransferOrigin(
        method: row.text(2),
        params: RawJSON(validated: row.optionalBlob(3) ?? []),
        sourceIdentity: row.text(4)
      ),
      remote: row.text(5),
      direction: direction,
      state: state,
      attempt: Int(row.integer(8)),
      loaded: row.integer(9),
      total: row.optionalInteger(10),
      payload: row.optionalBlob(14),
      spool: row.optionalText(11)
    )
    result.progress = row.optionalBlob(12)
    result.snapshot = row.optionalBlob(13)
    result.updatedMs = row.integer(15)
    return result
  }
}
