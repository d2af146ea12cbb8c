import JSON
import SQLite
import TransferModel

extension Index {
  /// How long what history does not keep can be had by subscribers that lag, in milliseconds.
  private static let liveMs: Int64 = 120_000

  /// Writes an announcement, giving it the next timetoken.
  ///
  /// The clock's row is read and written under the exclusive lock, so timetokens rise strictly
  /// over all processes, in the order of commits, even where the wall clock steps back.
  ///
  /// - Throws: `ERR_NOT_FOUND` where the channel has no such file.
  func announce(_ announcement: Announcement) throws(TransferError) -> Timetoken {
    let now = Clock.milliseconds()
    _ = try file(
      FileKey(
        channel: announcement.channel,
        id: announcement.fileID,
        name: announcement.fileName
      )
    )
    try purge(now)
    let timetoken = max(Clock.timetoken(), try latestTimetoken().value + 1)
    let expires: Int64? =
      if !announcement.store {
        now + Self.liveMs
      } else if announcement.ttlHours > 0 {
        Self.expiry(now, hours: announcement.ttlHours)
      } else {
        nil
      }
    try mapped { () throws(SQLiteError) in
      try database.run("UPDATE clock SET timetoken = ?", .integer(timetoken))
      try database.run(
        "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        .integer(timetoken),
        .text(announcement.channel),
        .text(announcement.fileID),
        .text(announcement.fileName),
        .optional(announcement.publisher),
        .optional(announcement.customMessageType),
        .optional(announcement.message?.bytes),
        .optional(announcement.meta?.bytes),
        .integer(announcement.store ? 1 : 0),
        .optional(expires)
      )
      try database.run(
        "UPDATE file SET announced = ? WHERE id = ? AND announced IS NULL",
        .integer(timetoken),
        .text(announcement.fileID)
      )
    }
    effects.isAnnounced = true
    return Timetoken(timetoken)
  }

  /// The timetoken of the newest announcement; of the store's making where there is none.
  func latestTimetoken() throws(TransferError) -> Timetoken {
    let value = try mapped { () throws(SQLiteError) in
      try database.first("SELECT timetoken FROM clock") { $0.integer(0) }
    }
    return Timetoken(value ?? 0)
  }

  /// The oldest announcements on any of the channels after a timetoken, in order.
  func messages(
    _ channels: [String],
    after: Timetoken,
    limit: Int
  ) throws(TransferError) -> [ChannelMessage] {
    var found: [MessageKey] = []
    for channel in channels {
      found += try keys(
        "timetoken > ? ORDER BY timetoken LIMIT ?",
        channel,
        .integer(after.value),
        .integer(Int64(limit))
      )
    }
    found.sort { $0.timetoken < $1.timetoken }
    // A channel named twice gives its messages twice.
    var last: Int64 = -1
    found.removeAll { key in
      defer { last = key.timetoken }
      return key.timetoken == last
    }
    return try load(Self.page(of: found, limit))
  }

  /// The newest stored messages older than `start` and not older than `end`, oldest first.
  func history(
    _ channel: String,
    limit: Int,
    start: Timetoken?,
    end: Timetoken?
  ) throws(TransferError) -> (messages: [ChannelMessage], more: Timetoken?) {
    let found = try keys(
      "timetoken < ? AND timetoken >= ? AND stored = 1 ORDER BY timetoken DESC LIMIT ?",
      channel,
      .integer(start?.value ?? .max),
      .integer(end?.value ?? 0),
      .integer(Int64(limit) + 1)
    )
    let page = Self.page(of: found, limit)
    let messages = try load(page.reversed())
    return (messages, page.count < found.count ? messages.first?.timetoken : nil)
  }

  /// One stored message.
  ///
  /// - Throws: `ERR_NOT_FOUND`, also for what history does not keep or keeps no longer.
  func message(
    _ channel: String,
    _ timetoken: Timetoken
  ) throws(TransferError) -> ChannelMessage {
    let found = try keys("timetoken = ? AND stored = 1", channel, .integer(timetoken.value))
    guard let message = try load(found).first else { throw Self.noMessage(channel, timetoken) }
    return message
  }

  /// Removes one stored message from the history; the file it announced stays.
  func deleteMessage(_ channel: String, _ timetoken: Timetoken) throws(TransferError) {
    let changes = try mapped { () throws(SQLiteError) in
      try database.run(
        "DELETE FROM message WHERE timetoken = ? AND channel = ? AND stored = 1",
        .integer(timetoken.value),
        .text(channel)
      )
      return database.changes
    }
    guard changes > 0 else { throw Self.noMessage(channel, timetoken) }
  }

  private static func noMessage(_ channel: String, _ timetoken: Timetoken) -> TransferError {
    TransferError(.notFound, "channel \(channel) has no message \(timetoken)")
  }

  private static func expiry(_ now: Int64, hours: Int64) -> Int64 {
    let (length, overflow) = hours.multipliedReportingOverflow(by: 3_600_000)
    return overflow || length > .max - now ? .max : now + length
  }

  /// A message's key and how many bytes its content has.
  private typealias MessageKey = (timetoken: Int64, size: Int64)

  /// Keys of a channel's messages that have not expired; the condition ends the statement.
  private func keys(
    _ condition: String,
    _ channel: String,
    _ values: SQLValue...
  ) throws(TransferError) -> [MessageKey] {
    let values = [.text(channel), .integer(Clock.milliseconds())] + values
    return try mapped { () throws(SQLiteError) in
      try database.all(
        """
        SELECT timetoken, ifnull(length(body), 0) + ifnull(length(meta), 0) FROM message
        WHERE channel = ? AND (expires IS NULL OR expires > ?) AND \(condition)
        """,
        values: values
      ) { (timetoken: $0.integer(0), size: $0.integer(1)) }
    }
  }

  /// As many as the limit and 16 MiB of content allow, and one in any case: a message may be as
  /// long as a line of the protocol.
  private static func page(of keys: [MessageKey], _ limit: Int) -> ArraySlice<MessageKey> {
    var size: Int64 = 0
    var count = 0
    for key in keys.prefix(limit) {
      size += key.size
      if count > 0, size > 16 << 20 { break }
      count += 1
    }
    return keys.prefix(count)
  }

  private func load(_ keys: some Sequence<MessageKey>) throws(TransferError) -> [ChannelMessage] {
    var messages: [ChannelMessage] = []
    for key in keys {
      let found = try mapped { () throws(SQLiteError) in
        try database.first(
          """
          SELECT message.channel, publisher, custom_type, body, meta, file_id, file_name,
            file.size, content_type, sha256, created
          FROM message LEFT JOIN file ON file.id = file_id AND file.channel = message.channel
          WHERE timetoken = ?
          """,
          .integer(key.timetoken),
          row: { message(key.timetoken, $0) }
        )
      }
      if let found { messages.append(found) }
    }
    return messages
  }

  private func message(_ timetoken: Int64, _ row: borrowing SQLRow) -> ChannelMessage {
    let id = row.text(5)
    let size = row.optionalInteger(7)
    return ChannelMessage(
      channel: row.text(0),
      timetoken: Timetoken(timetoken),
      publisher: row.optionalText(1),
      customMessageType: row.optionalText(2),
      message: row.optionalBlob(3).map(RawJSON.init(validated:)),
      meta: row.optionalBlob(4).map(RawJSON.init(validated:)),
      file: SharedFile(
        id: id,
        name: row.text(6),
        size: size,
        contentType: row.optionalText(8),
        sha256: row.optionalText(9),
        createdMs: row.optionalInteger(10)
      ),
      // No size: the file was deleted since.
      fileURL: size == nil ? nil : layout.url(id)
    )
  }

  /// Removes expired messages, at most 1,000 and at most once a minute.
  private func purge(_ now: Int64) throws(TransferError) {
    guard now - purgedMs >= 60_000 || now < purgedMs else { return }
    purgedMs = now
    try mapped { () throws(SQLiteError) in
      try database.run(
        """
        DELETE FROM message WHERE timetoken IN (
          SELECT timetoken FROM message WHERE expires <= ? LIMIT 1000)
        """,
        .integer(now)
      )
    }
  }
}
