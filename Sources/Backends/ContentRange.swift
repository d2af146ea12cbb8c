package import TransferModel

/// `Content-Range: bytes 0-1023/4096` of an answer.
///
/// It alone tells what came: some servers answer a range with status 200, and some send everything.
package struct ContentRange: Equatable {
  /// The bytes that came.
  package var range: Range<Int64>
  /// Of the whole object; nil where the server does not know, or names less than came.
  package var total: Int64?

  /// Reads the header; nil where there is none, or one that names no bytes.
  package init?(_ response: HTTPResponse) {
    guard let value = response.header("content-range"), value.hasPrefix("bytes ") else {
      return nil
    }
    let halves = value.dropFirst(6).split(separator: "/")
    let texts = (halves.first ?? "").split(separator: "-", omittingEmptySubsequences: false)
    let ends = texts.compactMap { Int64($0) }
    guard halves.count == 2, texts.count == 2, ends.count == 2, ends[0] >= 0, ends[0] <= ends[1],
      ends[1] < .max
    else { return nil }
    range = ends[0]..<ends[1] + 1
    total = Int64(halves[1]).flatMap { $0 > ends[1] ? $0 : nil }
  }
}
