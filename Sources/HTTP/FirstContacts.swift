/// Has one request alone reach a remote that nothing was said to lately, and the others wait for it.
///
/// libcurl has a thread for each lookup of a name and does not join lookups of the same one; and
/// those who come second find a TLS session to resume.
struct FirstContacts {
  private var entries: [String: Entry] = [:]

  private struct Entry {
    var first: Int?
    var waiting: [Int] = []
    var isKnownUntil: ContinuousClock.Instant
  }

  /// Somewhat less than libcurl remembers a name's addresses, which is 60 s.
  private static let memory: Duration = .seconds(50)

  /// Whether a request may begin now; one that may not is among those a later call returns.
  mutating func mayBegin(_ id: Int, _ origin: HTTPOrigin, now: ContinuousClock.Instant) -> Bool {
    if origin.isAddress, !origin.isSecure { return true }
    var entry = entries[origin.text] ?? Entry(isKnownUntil: now)
    guard entry.isKnownUntil <= now else { return true }
    let isFirst = entry.first == nil
    if isFirst { entry.first = id } else { entry.waiting.append(id) }
    entries[origin.text] = entry
    return isFirst
  }

  /// A request has a connection; returns who may begin now.
  mutating func reached(_ id: Int, _ origin: HTTPOrigin, now: ContinuousClock.Instant) -> [Int] {
    guard let entry = entries[origin.text], entry.first == id else { return [] }
    entries[origin.text] = Entry(isKnownUntil: now + Self.memory)
    return entry.waiting
  }

  /// A request has ended; returns who may begin now, each for itself.
  mutating func ended(_ id: Int, _ origin: HTTPOrigin) -> [Int] {
    guard let entry = entries[origin.text], entry.first == id else { return [] }
    entries[origin.text] = nil
    return entry.waiting
  }
}
