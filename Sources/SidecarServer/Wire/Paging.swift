internal import JSON
internal import TransferModel

/// Asks for a page so small that its items fit one line.
///
/// The remote's own `next` belongs to a whole page, so a page that is too long is asked for again
/// with the number of items that fit.
func fitting<Page>(
  _ limit: Int,
  _ settings: ServerSettings,
  page: (_ limit: Int) async throws(TransferError) -> Page,
  items: (Page) -> [RawJSON]
) async throws(TransferError) -> Page {
  let first = try await page(limit)
  let fit = count(items(first), within: settings.pageBytes)
  return fit < items(first).count ? try await page(max(1, fit)) : first
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
