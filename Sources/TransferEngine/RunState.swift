internal import Crypto
internal import Glibc
internal import JSON
internal import TransferModel

/// What a later process needs to go on with a transfer, as its journal row keeps it.
///
/// No offset is kept: a part is written from its beginning to its end, so its size tells how far
/// it got. That holds while the machine runs; after a power cut a part may hold blocks that never
/// reached the disk, so the boot it was written in is kept too.
struct RunState: Sendable, Equatable {
  /// Where relative paths of the request start.
  var root: String
  /// The staged content of an upload.
  var staging: String?
  /// The part of a download, the file it will be, and the stored content it comes from.
  var part: String?
  var target: String?
  var content: String?
  /// What tells the part from every other file, whatever its name: its inode number.
  var inode: Int64?
  /// The backend's own.
  var checkpoint: [UInt8]?
  /// The kernel's name of the boot in which the part was written.
  var boot: String

  init(root: String) {
    self.root = root
    boot = Self.currentBoot
  }

  /// Whether a run had anything in hand, here or on the remote.
  var isBegun: Bool { hasFiles || checkpoint != nil }

  /// Whether a part or staged content is there.
  var hasFiles: Bool { staging != nil || part != nil }

  /// Whether what was written can be relied on.
  var isOfThisBoot: Bool { boot == Self.currentBoot }

  /// `random/boot_id` of proc(5); one of its own where the kernel does not tell, so that nothing
  /// written before is relied on.
  private static let currentBoot: String = {
    let unknown = RandomID.make()
    guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return unknown }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 64)
    guard fgets(&line, Int32(line.count), file) != nil else { return unknown }
    return String(decoding: line.prefix { $0 > 32 }.map { UInt8($0) }, as: UTF8.self)
  }()
}

extension RunState {
  /// The state as JSON.
  var encoded: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("root", root)
    writer.field("staging", staging)
    writer.field("part", part)
    writer.field("target", target)
    writer.field("content", content)
    writer.field("inode", inode)
    writer.field("checkpoint", checkpoint.map { String(decoding: $0, as: UTF8.self) })
    writer.field("boot", boot)
    writer.endObject()
    return writer.take()
  }

  /// Reads what `encoded` wrote.
  init(decoding bytes: [UInt8]) throws(JSONError) {
    var fields = try JSONFields(JSONNode(parsing: bytes))
    root = try fields.string("root")
    staging = try fields.optionalString("staging")
    part = try fields.optionalString("part")
    target = try fields.optionalString("target")
    content = try fields.optionalString("content")
    inode = try fields.optionalInt("inode")
    checkpoint = try fields.optionalString("checkpoint").map { Array($0.utf8) }
    boot = try fields.string("boot")
    try fields.finish()
  }
}
