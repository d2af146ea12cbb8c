internal import JSON
internal import TransferModel

/// Asks for a page so small that its items fit one line.
///
/// The remote's own `next` belongs to a whole page, so a page that is too long is asked for again
/// with the number of items that fit, until what comes does: others may be there by then.
func fitting<Page>(
  _ limit: Int,
  _ settings: ServerSettings,
  page: (_ limit: Int) async throws(TransferError) -> Page,
  items: (Page) -> [RawJSON]
) async throws(TransferError) -> Page {
  var limit = limit
  while true {
    let page = try await page(limit)
    let items = items(page)
    let fit = max(1, count(items, within: settings.pageBytes))
    if fit >= items.count { return page }
    // Less each time, also of a remote that gives more than was asked for.
    limit = min(fit, limit - 1)
    guard limit > 0 else { return page }
  }
}

/// How many of the items fit a number of bytes, with a comma behind each.
func count(_ items: [RawJSON], within limit: Int) -> Int {
  var bytes = 0
  return items.firstIndex { item in
    bytes += item.bytes.count + 1
    return bytes > limit
  } ?? items.count
}

extension JSONWriter {
  /// A member with an array of finished items.
  mutating func array(_ name: StaticString, _ items: [RawJSON]) {
    key(name)
    beginArray()
    for item in items { raw(item) }
    endArray()
  }

  /// Where the next page starts; null on the last.
  mutating func next(_ next: String?) {
    key("next")
    if let next { string(next) } else { null() }
  }
}
