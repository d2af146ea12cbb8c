package import TransferModel

/// A URL that somebody else made, cut into what a request needs.
package struct HTTPURL: Equatable, Sendable {
  /// Scheme, host and port.
  package var origin: String
  /// Percent-encoded, starting with `/`.
  package var path: String
  /// Percent-encoded, without `?`.
  package var query: String

  /// Nil for what is no http or https URL; `relativeTo` completes a path alone.
  package init?(_ text: String, relativeTo base: String? = nil) {
    let isPrintable = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    guard isPrintable, text.utf8.count <= 16 << 10 else { return nil }
    var text = text[...]
    if let base, text.hasPrefix("/"), !text.hasPrefix("//") { text = base + text }
    if let hash = text.firstIndex(of: "#") { text = text[..<hash] }
    guard let scheme = ["https://", "http://"].first(where: text.lowercased().hasPrefix) else {
      return nil
    }
    let rest = text.dropFirst(scheme.count)
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let host = rest[..<end]
    guard !host.isEmpty, !host.contains("@") else { return nil }
    origin = scheme + host.lowercased()
    let target = rest[end...]
    let mark = target.firstIndex(of: "?") ?? target.endIndex
    path = mark == target.startIndex ? "/" : String(target[..<mark])
    query = String(target[mark...].dropFirst())
  }
}

extension HTTPURL {
  /// Where a redirect leads, from a place that is told by its scheme, host and port.
  /// - Throws: `ERR_INVALID_URL`, also for one that leads away from TLS.
  package init(redirect response: HTTPResponse, from origin: String) throws(TransferError) {
    guard let location = response.header("Location"),
      let target = HTTPURL(location, relativeTo: origin),
      !origin.hasPrefix("https:") || target.origin.hasPrefix("https:")
    else {
      throw TransferError(
        .invalidURL,
        "The file's redirect leads to no URL that can be followed; try again later."
      )
    }
    self = target
  }
}
