/// MIME types by file extension, for uploads that name none.
package enum ContentType {
  /// The type of content nothing is known of.
  package static let unknown = "application/octet-stream"

  /// The type a name's extension stands for; nil where it has none or it is not known.
  package static func ofName(_ name: String) -> String? {
    fileExtension(of: name).flatMap { table[$0] }
  }

  /// The lower-case extension of a name without its dot; nil where there is none.
  ///
  /// A leading dot does not start an extension (`.profile` has none).
  package static func fileExtension(of name: String) -> String? {
    let name = ObjectReference.lastComponent(of: name)
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.utf8.startIndex
    else { return nil }
    let text = name[name.utf8.index(after: dot)...]
    return text.isEmpty ? nil : text.lowercased()
  }

  /// From the IANA registry and, for the few it lacks, what browsers send.
  private static let table: [String: String] = [
    "7z": "application/x-7z-compressed", "aac": "audio/aac",
    "apk":
      "application/vnd.android.package-archive", "avi": "video/x-msvideo", "avif": "image/avif",
    "bmp": "image/bmp", "bz2": "application/x-bzip2", "c": "text/x-c", "cpp": "text/x-c",
    "css": "text/css", "csv": "text/csv", "doc": "application/msword",
    "docx":
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "epub": "application/epub+zip", "exe": "application/vnd.microsoft.portable-executable",
    "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic",
    "heif": "image/heif", "htm": "text/html", "html": "text/html",
    "ico":
      "image/vnd.microsoft.icon", "ics": "text/calendar", "jpeg": "image/jpeg",
    "jpg": "image/jpeg", "js": "text/javascript", "json": "application/json",
    "log":
      "text/plain", "m4a": "audio/mp4", "m4v": "video/mp4", "md": "text/markdown",
    "mid": "audio/midi", "mjs": "text/javascript", "mkv": "video/matroska",
    "mov":
      "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "ods":
      "application/vnd.oasis.opendocument.spreadsheet",
    "odt":
      "application/vnd.oasis.opendocument.text", "oga": "audio/ogg", "ogg": "audio/ogg",
    "ogv": "video/ogg", "opus": "audio/opus", "otf": "font/otf", "pdf": "application/pdf",
    "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
    "pptx":
      "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "py": "text/x-python", "rar": "application/vnd.rar", "rtf": "application/rtf",
    "sh":
      "application/x-sh", "sql": "application/sql", "svg": "image/svg+xml",
    "swift":
      "text/x-swift", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff",
    "ts": "text/x-typescript", "tsv": "text/tab-separated-values", "ttf": "font/ttf",
    "txt":
      "text/plain", "wasm": "application/wasm", "wav": "audio/wav", "weba": "audio/webm",
    "webm": "video/webm", "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2",
    "xls": "application/vnd.ms-excel",
    "xlsx":
      "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml", "yaml": "application/yaml", "yml": "application/yaml",
    "zip":
      "application/zip", "zst": "application/zstd",
  ]
}
