import CLinux
import Glibc
import Synchronization
package import TransferModel

/// Puts parts in place, those that wait at the same time together, so that one wait for the disk
/// serves many; made for small ones, since each waits for the others' bytes.
package final class PartPublisher: Sendable {
  private struct Job: Sendable {
    let part: PartFile
    let overwrite: Bool
    let mode: UInt32
    let done: CheckedContinuation<TransferError?, Never>
  }

  private struct State {
    var waiting: [Job] = []
    var isWorking = false
    /// Until then the disk has so much to write that nobody should wait for all of it.
    var isBusyUntil = ContinuousClock.now
  }

  /// What tells a folder from all others.
  private struct FolderID: Hashable {
    let device: UInt64
    let inode: UInt64
  }

  private let state = Mutex(State())
  private let executor: any TaskExecutor

  /// - Parameter executor: where blocking is allowed.
  package init(on executor: any TaskExecutor) { self.executor = executor }

  /// Gives a part its own name, durably: see `PartFile.publish`, which says what it throws.
  ///
  /// `waiting` is called where others' parts come first, but for no more than 8 at once: whoever
  /// waits holds memory.
  package func publish(
    _ part: PartFile,
    overwrite: Bool,
    mode: UInt32,
    waiting: () -> Void
  ) async throws(TransferError) {
    let error = await withCheckedContinuation { continuation in
      let job = Job(part: part, overwrite: overwrite, mode: mode, done: continuation)
      let (begins, isCrowded) = state.withLock { state in
        state.waiting.append(job)
        defer { state.isWorking = true }
        return (!state.isWorking, state.waiting.count > 8)
      }
      if begins {
        work()
      } else if !isCrowded {
        waiting()
      }
    }
    if let error { throw error }
  }

  /// Does what waits, here and now; what has come meanwhile is for another thread, since somebody
  /// waits here for a part of the first.
  private func work() {
    let jobs = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    perform(jobs)
    let isMore = state.withLock { state in
      state.isWorking = !state.waiting.isEmpty
      return state.isWorking
    }
    if isMore { Task(executorPreference: executor) { [self] in work() } }
  }

  private func perform(_ jobs: [Job]) {
    var isDurable = syncTogether(jobs)
    let outcomes = jobs.map { job in
      // Also where it failed: now the part whose bytes are lost says so.
      (isDurable ? nil : Self.failureOf(job.part.sync))
        ?? Self.failureOf { () throws(TransferError) in
          try job.part.publish(overwrite: job.overwrite, mode: job.mode, durable: false)
        }
    }
    isDurable = isDurable && syncTogether(jobs)
    var folders: [FolderID: TransferError?] = [:]
    for (job, outcome) in zip(jobs, outcomes) {
      var failure = outcome
      if failure == nil, !isDurable { failure = Self.syncName(of: job.part, &folders) }
      job.done.resume(returning: failure)
    }
  }

  /// Has all that the parts' file system was given written; false where that is not worth it, or
  /// failed.
  ///
  /// From nine parts on, one syncfs(2) is cheaper than a sync of each, 130 to 300 µs a part; but not
  /// while a large file is written, here or by other programs, for it waits for that too.
  private func syncTogether(_ jobs: [Job]) -> Bool {
    let began = ContinuousClock.now
    guard jobs.count > 8, state.withLock({ $0.isBusyUntil <= began }), Self.areTogether(jobs),
      clinux_syncfs(jobs[0].part.number) == 0
    else { return false }
    let end = ContinuousClock.now
    if end - began > Self.patience {
      state.withLock { $0.isBusyUntil = end + Self.busyTime }
    }
    return true
  }

  /// What a few dozen small parts and their names may take; with a large file it is far more.
  private static let patience = Duration.milliseconds(100)
  private static let busyTime = Duration.seconds(2)

  /// Makes a part's name durable; one of a folder does the folder for all.
  private static func syncName(
    of part: PartFile,
    _ folders: inout [FolderID: TransferError?]
  ) -> TransferError? {
    if let failure = failureOf(part.syncLink) { return failure }
    let sync = { () throws(TransferError) in try part.folder.sync(path: part.targetPath) }
    guard let id = folderID(of: part) else { return failureOf(sync) }
    let known = folders[id] ?? failureOf(sync)
    folders[id] = .some(known)
    return known
  }

  /// Whether all are on one file system.
  private static func areTogether(_ jobs: [Job]) -> Bool {
    let devices = jobs.map { try? Descriptor.status($0.part.number, path: $0.part.path).st_dev }
    return devices.allSatisfy { $0 != nil && $0 == devices[0] }
  }

  private static func folderID(of part: PartFile) -> FolderID? {
    guard let status = try? Descriptor.status(part.folder.number, path: part.targetPath) else {
      return nil
    }
    return FolderID(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }

  private static func failureOf(_ work: () throws(TransferError) -> Void) -> TransferError? {
    do throws(TransferError) {
      try work()
      return nil
    } catch {
      return error
    }
  }
}
