internal import Configuration
internal import Crypto
internal import Glibc
internal import LocalFiles
internal import Synchronization
internal import TransferModel

/// What all runs share: caps on bytes per second and the folder for temporary files.
final class RunEnvironment: Sendable {
  let uploadRate: RateLimiter
  let downloadRate: RateLimiter
  /// Where blocking work is done.
  let pool: BlockingPool
  let openPauses = OpenPauses()
  /// Puts small downloads in place.
  let publisher: PartPublisher
  private let temporaryFolder: String
  private let isPrepared = Mutex(false)

  /// Temporary files that nobody forgot are removed by the first start so much later, in seconds.
  private static let temporaryLifetime = 24 * 3600

  init(configuration: Configuration, pool: BlockingPool) {
    self.pool = pool
    publisher = PartPublisher(on: pool)
    uploadRate = RateLimiter(rate: configuration.limits.uploadRate)
    downloadRate = RateLimiter(rate: configuration.limits.downloadRate)
    temporaryFolder = configuration.stateDirectory + "/tmp"
  }

  /// A path for a download that names none; the folder is made and cleaned at the first call.
  func temporaryPath() throws(TransferError) -> String {
    try isPrepared.withLock { isPrepared throws(TransferError) in
      guard !isPrepared else { return }
      try makeFolder(temporaryFolder)
      removeOldFiles()
      isPrepared = true
    }
    return temporaryFolder + "/" + RandomID.make()
  }

  /// mkdir(2) of the folder and those above it, each for the user alone.
  private func makeFolder(_ path: String) throws(TransferError) {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
      slash != path.startIndex
    else { throw .fromErrno(errno, doing: "make the folder", path: path) }
    try makeFolder(String(path[..<slash]))
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw .fromErrno(errno, doing: "make the folder", path: path)
    }
  }

  private func removeOldFiles() {
    let oldest = time(nil) - Self.temporaryLifetime
    // A folder that cannot be listed shows at the first write.
    _ = try? PartFile.sweep(temporaryFolder, before: oldest)
    guard let folder = opendir(temporaryFolder) else { return }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: entry.pointee.d_name) { bytes in
        bytes.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      // Parts are swept by their locks.
      if PartFile.isPart(name) { continue }
      var status = stat()
      guard fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) == 0,
        status.st_mode & S_IFMT == S_IFREG, status.st_mtim.tv_sec < oldest
      else { continue }
      unlinkat(dirfd(folder), name, 0)
    }
  }
}
