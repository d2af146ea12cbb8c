import FoundationEssentials
import Glibc
import Testing
import TransferModel

@testable import LocalFiles

@Suite struct DiskFullTests {
  @Test(
    "space that is not there is refused before any byte",
    .enabled(if: hasSharedMemory, "needs a tmpfs at /dev/shm")
  )
  func reservation() throws {
    var space = statvfs()
    #expect(statvfs("/dev/shm", &space) == 0)
    let folder = try TemporaryFolder(in: "/dev/shm")
    let part = try PartFile.create(for: folder("f"), overwrite: false)
    let tooMuch = Int64(space.f_blocks + 1) * Int64(space.f_frsize)
    let error = failure { () throws(TransferError) in try part.preallocate(tooMuch) }
    #expect(error?.code == .diskFull)
    #expect(error?.message.contains("free some space") == true)
  }

  @Test(
    "a disk that fills up while written is named, and its part goes",
    .enabled(if: canMount, "needs to mount"),
    arguments: Filling.allCases
  )
  func filling(_ filling: Filling) throws {
    let folder = try TemporaryFolder()
    #expect(mount?("tmpfs", folder.path, "tmpfs", 0, "size=256k") == 0)
    defer { _ = umount?(folder.path, 0) }
    let source = try TemporaryFolder()
    let big = try SourceFile.open(try source.file("big", noise(1 << 20)))
    let error = failure { () throws(TransferError) in
      let part = try PartFile.create(for: folder("f"), overwrite: false)
      switch filling {
      case .write: try part.write(noise(1 << 20), at: 0)
      case .reserve: try part.preallocate(1 << 20)
      case .copy:
        _ = try FileCopy().copySlice(
          from: big.number,
          at: 0,
          to: part.number,
          at: 0,
          length: 1 << 20
        )
      }
    }
    #expect(error?.code == .diskFull, "\(error?.message ?? "fitted")")
    #expect(try folder.names() == [])
  }

  /// How the disk is filled.
  enum Filling: CaseIterable { case write, reserve, copy }

  @Test("a file system mounted read-only is denied", .enabled(if: canMount, "needs to mount"))
  func readOnly() throws {
    let folder = try TemporaryFolder()
    #expect(mount?("tmpfs", folder.path, "tmpfs", 1 /* MS_RDONLY */, "size=256k") == 0)
    defer { _ = umount?(folder.path, 0) }
    let error = failure { () throws(TransferError) in
      _ = try PartFile.create(for: folder("f"), overwrite: false)
    }
    #expect(error?.code == .fileAccessDenied)
    #expect(error?.message.contains("read-only") == true)
  }

  @Test(
    "system errors have the codes of the contract and name what to do",
    arguments: [
      (ENOENT, ErrorCode.fileNotFound), (ENOTDIR, .fileNotFound), (EACCES, .fileAccessDenied),
      (EPERM, .fileAccessDenied), (EROFS, .fileAccessDenied), (ENOSPC, .diskFull),
      (EDQUOT, .diskFull), (EFBIG, .diskFull), (EEXIST, .targetExists),
      (EISDIR, .invalidFileObject), (ELOOP, .invalidFileObject), (ENXIO, .invalidFileObject),
      (ENAMETOOLONG, .invalidArgument), (EMFILE, .unknown), (EIO, .unknown), (ESTALE, .unknown),
    ]
  )
  func codes(number: Int32, code: ErrorCode) {
    let error = TransferError.fromErrno(number, doing: "open", path: "/x/y")
    #expect(error.code == code)
    #expect(error.message.hasPrefix("Cannot open '/x/y': "))
    #expect(error.isRetryable == (number == EMFILE))
  }

  @Test("an unknown system error carries the system's words and number")
  func words() {
    let error = TransferError.fromErrno(EIO, doing: "read", path: "/x")
    #expect(error.message == "Cannot read '/x': Input/output error (error 5).")
  }
}

private let mount: Mount? = symbol("mount")
private let umount: Unmount? = symbol("umount2")

private typealias Mount =
  @convention(c) (
    UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>, UInt, UnsafePointer<CChar>
  ) -> Int32
private typealias Unmount = @convention(c) (UnsafePointer<CChar>, Int32) -> Int32

/// Glibc's header of them is not in Swift's module.
private func symbol<Function>(_ name: String) -> Function? {
  dlsym(nil, name).map { unsafeBitCast($0, to: Function.self) }
}

/// Whether this process may mount, which takes root and is forbidden in most containers.
private let canMount: Bool = {
  guard let folder = try? TemporaryFolder(), let mount, let umount,
    mount("tmpfs", folder.path, "tmpfs", 0, "size=64k") == 0
  else { return false }
  return umount(folder.path, 0) == 0
}()

/// Whether a tmpfs of limited size is mounted there: it refuses too large reservations at once,
/// where a file system on a disk would first give all it has.
private let hasSharedMemory: Bool = {
  guard let mounts = try? Array(Data(contentsOf: URL(filePath: "/proc/mounts"))) else {
    return false
  }
  return String(decoding: mounts, as: UTF8.self).contains(" /dev/shm tmpfs ")
}()
