import Backends
import TransferModel

/// Where the files of channels lie: `channels/<channel>/files/<id>/<name>`.
///
/// Names are whatever people call their files, so here, unlike with objects, every name must work
/// on every server. A byte that some server does not keep is written as `~` and two hexadecimal
/// digits, and so is `~` itself; a text that is too long for one component goes on in the next.
/// All others stay readable for whoever looks into the bucket with another tool.
enum ChannelLayout {
  /// Well below the 255 bytes that file systems take.
  private static let longestComponent = 200
  private static let escape = UInt8(ascii: "~")

  /// The path of a channel's files, without a trailing slash.
  static func folder(of channel: String) -> String { "channels/\(encode(channel))/files" }

  /// The path of a channel's messages, without a trailing slash.
  static func messages(of channel: String) -> String { "channels/\(encode(channel))/messages" }

  /// The path of a file.
  static func path(channel: String, id: String, name: String) -> String {
    "\(folder(of: channel))/\(encode(id))/\(encode(name))"
  }

  /// Id and name of a file by its path below its channel's folder; nil for what is no file of ours.
  static func file(below folder: String) -> (id: String, name: String)? {
    guard let slash = folder.utf8.firstIndex(of: UInt8(ascii: "/")),
      let id = decode(String(folder[..<slash])),
      let name = decode(String(folder[folder.utf8.index(after: slash)...])), !id.isEmpty,
      !name.isEmpty
    else { return nil }
    return (id, name)
  }

  /// The name of a file by its whole path; nil for what is no file of ours.
  static func name(ofFileAt path: String) -> String? {
    let components = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    // A channel can have any number of components, and `files` can be among them.
    for index in components.indices.dropFirst(2) where components[index] == "files" {
      let channel = components[1..<index].joined(separator: "/")
      let rest = components[(index + 1)...].joined(separator: "/")
      if decode(channel) != nil, let file = file(below: rest) { return file.name }
    }
    return nil
  }

  /// One or more components that stand for a text.
  static func encode(_ text: String) -> String {
    var components: [[UInt8]] = []
    var current: [UInt8] = []
    for scalar in text.unicodeScalars {
      let encoded = String(scalar).utf8.flatMap {
        isSafe($0) ? [$0] : [escape] + PercentEncoding.hex($0)
      }
      if current.count + encoded.count > longestComponent {
        components.append(current)
        current = []
      }
      current += encoded
    }
    components.append(current)
    return components.map(named).joined(separator: "/")
  }

  /// The text that components stand for; nil where they are not spelled as ``encode(_:)`` does.
  static func decode(_ path: String) -> String? {
    var bytes: [UInt8] = []
    var rest = path.utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "/"): break
      case escape:
        guard let high = rest.next().flatMap(PercentEncoding.digit),
          let low = rest.next().flatMap(PercentEncoding.digit)
        else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self),
      encode(text).utf8.elementsEqual(path.utf8)
    else { return nil }
    return text
  }

  /// `.` and `..` are names of nothing, and a blank at an end is lost on some disks.
  private static func named(_ component: [UInt8]) -> String {
    var component = component
    let edges: [UInt8] = [UInt8(ascii: "."), UInt8(ascii: " ")]
    if let last = component.last, edges.contains(last) {
      component.removeLast()
      component += [escape] + PercentEncoding.hex(last)
    }
    return String(decoding: component, as: UTF8.self)
  }

  private static func isSafe(_ byte: UInt8) -> Bool {
    byte >= 32 && byte != 127 && byte != escape && byte != UInt8(ascii: "/")
      && byte != UInt8(ascii: "\\")
  }
}
