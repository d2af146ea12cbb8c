import FoundationEssentials
import Glibc
import LocalFiles
import Testing
import TransferModel

/// A folder of one test, free of symbolic links and removed with this object.
final class TemporaryFolder: Sendable {
  let path: String

  init(in parent: String = "/tmp") throws {
    var template = Array("\(parent)/ferry-test.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil, let real = realpath(template, nil) else {
      throw TransferError.fromErrno(errno, doing: "make a folder in", path: parent)
    }
    defer { free(real) }
    path = String(cString: real)
  }

  // What cannot be removed was unmounted or removed by the test itself.
  deinit { try? FileManager.default.removeItem(atPath: path) }

  func callAsFunction(_ name: String) -> String { path + "/" + name }

  @discardableResult
  func file(_ name: String, _ content: [UInt8]) throws -> String {
    try Data(content).write(to: URL(filePath: self(name)))
    return self(name)
  }

  @discardableResult
  func file(_ name: String, _ content: String = "content") throws -> String {
    try file(name, Array(content.utf8))
  }

  @discardableResult
  func folder(_ name: String) throws -> String {
    guard mkdir(self(name), 0o755) == 0 else {
      throw TransferError.fromErrno(errno, doing: "make", path: self(name))
    }
    return self(name)
  }

  @discardableResult
  func link(_ name: String, to target: String) throws -> String {
    guard symlink(target, self(name)) == 0 else {
      throw TransferError.fromErrno(errno, doing: "link", path: self(name))
    }
    return self(name)
  }

  func content(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: self(name))))
  }

  func text(_ name: String) throws -> String { String(decoding: try content(name), as: UTF8.self) }

  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }
}

/// Appends to a file, as another program would.
func append(_ text: String, to path: String) throws {
  let number = open(path, O_WRONLY | O_APPEND)
  defer { close(number) }
  let bytes = Array(text.utf8)
  guard number >= 0, write(number, bytes, bytes.count) == bytes.count else {
    throw TransferError.fromErrno(errno, doing: "append to", path: path)
  }
}

/// The permissions of what has a path.
func mode(_ path: String) -> mode_t {
  var status = stat()
  #expect(lstat(path, &status) == 0)
  return status.st_mode & 0o7777
}

/// The error a call throws; nil where it throws none.
func failure(_ call: () throws(TransferError) -> Void) -> TransferError? {
  do throws(TransferError) {
    try call()
    return nil
  } catch {
    return error
  }
}

/// Bytes that repeat nowhere near, the same at each call.
func noise(_ count: Int) -> [UInt8] {
  var state: UInt64 = 1
  let words = (0...(count / 8)).map { _ in
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 32
  }
  return words.withUnsafeBytes { Array($0.prefix(count)) }
}
