/// File names made from what remotes send.
package enum SafeName {
  /// The longest name of Linux's file systems, in bytes.
  private static let maximumBytes = 255
  /// What is longer is no extension one would miss.
  private static let maximumExtensionBytes = 32

  /// One path component from any text; never empty, `.` or `..`, at most 255 bytes.
  ///
  /// The whole text becomes the name: slashes, backslashes, control characters (C0, DEL, C1), line
  /// separators and the marks that turn the reading direction (they show `exe.jpg` for what ends in
  /// `.exe`) become `_`. A leading dot gets a `_` before it: a remote must not be able to set up
  /// hidden or configuration files (`.bashrc`), `.`, `..` or one of ferry's own parts. A name that
  /// is too long loses the end of its stem and keeps its extension. Nothing else is changed.
  package static func component(_ remoteName: String) -> String {
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: remoteName.unicodeScalars.lazy.map { isUnsafe($0) ? "_" : $0 })
    var name = String(scalars)
    if name.isEmpty || name.utf8.first == UInt8(ascii: ".") { name = "_" + name }
    guard name.utf8.count > maximumBytes else { return name }
    let ending = fileExtension(of: name)
    return prefix(of: name, bytes: maximumBytes - ending.utf8.count) + String(ending)
  }

  /// The longest beginning of a text that has at most so many bytes of UTF-8.
  static func prefix(of text: String, bytes: Int) -> String {
    var kept = String.UnicodeScalarView()
    var used = 0
    for scalar in text.unicodeScalars {
      used += UTF8.width(scalar)
      if used > bytes { break }
      kept.append(scalar)
    }
    return String(kept)
  }

  /// The extension with its dot; empty where there is none worth keeping.
  private static func fileExtension(of name: String) -> Substring {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")),
      name.utf8[dot...].count <= maximumExtensionBytes
    else { return "" }
    return name[dot...]
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0x2F, 0x5C, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
      true
    default: false
    }
  }
}
