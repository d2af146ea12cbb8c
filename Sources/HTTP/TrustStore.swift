import CCurl
import CLinux
import Glibc
import LocalFiles
import TransferModel

/// Certificates to trust: the system's, and those of a `caFile` beside them.
///
/// libcurl keeps the parsed certificates of a file by its name, but not those of a buffer, so both
/// are put together in a file that has no name but its descriptor's. Each is kept as long as the
/// process lives.
final class TrustStore {
  private var paths: [String: String] = [:]
  private var descriptors: [Int32] = []

  deinit {
    for descriptor in descriptors { close(descriptor) }
  }

  /// A file that holds the system's certificates and those of another file.
  /// - Throws: `ERR_CONFIG` where that file cannot be read or holds no certificate.
  func path(adding file: String) throws(TransferError) -> String {
    if let path = paths[file] { return path }
    let added: [UInt8]
    do throws(TransferError) {
      added = try Self.read(file)
    } catch {
      throw TransferError(.config, "caFile cannot be used. \(error.message)")
    }
    let text = String(decoding: added, as: UTF8.self)
    guard text.contains("-----BEGIN CERTIFICATE-----") else {
      throw TransferError(
        .config,
        "caFile '\(file)' holds no certificate in PEM form (-----BEGIN CERTIFICATE-----);"
          + " name the file of the authority that signed the server's certificate."
      )
    }
    // Where there is none, the added ones are all there are.
    let system = ccurl_system_certificates().map { String(cString: $0) }
    let known = system.flatMap { try? Self.read($0) } ?? []
    let path = try store(known + [UInt8(ascii: "\n")] + added)
    paths[file] = path
    return path
  }

  private static func read(_ path: String) throws(TransferError) -> [UInt8] {
    let file = try SourceFile.open(path)
    guard file.size <= 16 << 20 else {
      throw TransferError(.invalidFileObject, "'\(path)' is too large to be certificates.")
    }
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(file.size), alignment: 1)
    defer { room.deallocate() }
    let count = try file.read(at: 0, into: room)
    return Array(room[..<count])
  }

  private func store(_ bytes: [UInt8]) throws(TransferError) -> String {
    let name = "a file in memory"
    let descriptor = clinux_memory_file("certificates")
    guard descriptor >= 0 else { throw .fromErrno(errno, doing: "make", path: name) }
    descriptors.append(descriptor)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { room.deallocate() }
    room.copyBytes(from: bytes)
    try Descriptor.write(descriptor, at: 0, UnsafeRawBufferPointer(room), path: name)
    return "/proc/self/fd/\(descriptor)"
  }
}
