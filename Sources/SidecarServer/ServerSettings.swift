/// What `initialize` may have changed.
struct ServerSettings: Sendable {
  /// Where relative paths start; absolute.
  var rootPath: String
  /// Whose state this is: processes with the same key take over from each other.
  var stateKey = "default"
  /// Who announces files, as subscribers see it.
  var publisher = "ferry"
  /// The longest line that is written, in bytes.
  var maxOutLineBytes: Int64 = ServerSettings.smallestOutLine
  /// The shortest time between two progress notifications of one transfer.
  var progressInterval: Duration = .milliseconds(100)

  /// 60 KiB: readers that take lines of 64 KiB (Python's asyncio) need nothing set.
  static let smallestOutLine: Int64 = 60 << 10

  /// The largest content a reply can carry as base64 beside all metadata.
  var inlineLimit: Int64 { (maxOutLineBytes - (16 << 10)) / 4 * 3 }

  /// The largest piece a `stream/read` reply can carry as base64.
  var streamPieceLimit: Int { Int((maxOutLineBytes - 1024) / 4 * 3) }

  /// What the items of a page may take, in bytes.
  var pageBytes: Int { Int(maxOutLineBytes - (4 << 10)) }
}
