import Foundation
import Glibc
import JSON
import LocalStore
import Testing
import TransferModel

/// A folder that is gone when the test is, for one store's root.
final class Scratch: Sendable {
  let root: String

  init() {
    root = "/tmp/ferry-store-\(UUID().uuidString)"
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  /// Names of all that lies in a folder of the store, sorted, folders entered.
  func files(in folder: String) throws -> [String] {
    let path = "\(root)/\(folder)"
    return try FileManager.default.subpathsOfDirectory(atPath: path).filter {
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(path)/\($0)", isDirectory: &isFolder)
        && !isFolder.boolValue
    }.sorted()
  }

  /// Runs SQL on the index from outside and gives the first column of its rows.
  func index(_ sql: String) throws -> [String] {
    try sqlite("\(root)/index.db", sql)
  }
}

extension LocalStore {
  /// Stages content.
  func stage(_ text: String) throws -> Staging {
    let staging = try stage(expectedSize: Int64(text.utf8.count))
    var text = text
    let count = text.withUTF8 { pwrite(staging.descriptor, $0.baseAddress, $0.count, 0) }
    #expect(count == text.utf8.count)
    return staging
  }

  /// Stores an object.
  @discardableResult
  func put(
    _ path: String,
    _ text: String = "",
    _ condition: WriteCondition = WriteCondition(),
    custom: [ExactString: String] = [:]
  ) async throws -> ObjectMetadata {
    try await publishObject(
      try stage(text),
      ref: ObjectReference(path: path),
      settable: SettableMetadata(contentType: "text/plain", custom: custom),
      condition: condition,
      size: Int64(text.utf8.count),
      sha256: nil
    )
  }

  /// Stores a file on a channel.
  func send(_ channel: String, _ name: String, _ text: String = "") async throws -> SharedFile {
    try await publishFile(
      try stage(text),
      channel: channel,
      name: name,
      contentType: "text/plain",
      size: Int64(text.utf8.count),
      sha256: nil
    )
  }
}

extension StoredContent {
  /// All bytes, as text.
  var text: String {
    var bytes = [UInt8](repeating: 0, count: Int(size) + 1)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
  }
}

/// The error a call fails with.
func failure(_ body: () async throws -> Void) async -> TransferError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? TransferError
  }
}
