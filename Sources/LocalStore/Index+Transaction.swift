import SQLite
import TransferModel

extension Index {
  /// Runs jobs in one transaction, in order; each succeeds or fails on its own and is answered
  /// exactly once.
  func perform(_ jobs: [IndexJob]) {
    if jobs.contains(where: { $0.kind == .write }) { write(jobs) } else { read(jobs) }
  }

  private func write(_ jobs: [IndexJob]) {
    var outcomes: [Result<() -> Void, TransferError>] = []
    var failure: TransferError?
    effects = Effects()
    do throws(TransferError) {
      try lock.hold(.exclusive) { () throws(TransferError) in
        do throws(TransferError) {
          try execute("BEGIN IMMEDIATE")
          try dropGarbageRows()
          for job in jobs { outcomes.append(try attempt(job)) }
          for folder in effects.folders { try StoreLayout.syncFolder(folder) }
          if effects.isAnnounced { ring() }
          try execute("COMMIT")
        } catch {
          abandon()
          throw error
        }
      }
    } catch {
      // One job may have spoilt it for the others: what fills the disk, say, for what frees it.
      guard jobs.count == 1 else { return jobs.forEach { perform([$0]) } }
      failure = error
    }
    for (number, job) in jobs.enumerated() {
      let isDone = failure == nil && (try? outcomes[number].get()) != nil
      if isDone { job.staging?.published() } else { job.staging?.publishingFailed() }
    }
    if failure == nil { removeUnnamed() }
    for (number, job) in jobs.enumerated() {
      let outcome = number < outcomes.count ? outcomes[number] : nil
      switch (outcome, failure) {
      case (.failure(let error), _), (_, .some(let error)): job.refuse(error)
      case (.success(let settle), nil): settle()
      case (nil, nil): preconditionFailure("a transaction committed without all of its jobs")
      }
    }
  }

  /// Runs one job so that its failure undoes its own work only.
  ///
  /// - Throws: What ended the whole transaction: SQLite rolls back by itself when, for example,
  ///   the disk is full.
  private func attempt(
    _ job: IndexJob
  ) throws(TransferError) -> Result<() -> Void, TransferError> {
    let (linked, removed) = (effects.linked.count, effects.removed.count)
    try statement("SAVEPOINT job")
    do throws(TransferError) {
      let settle = try job.run(self)
      try statement("RELEASE job")
      return .success(settle)
    } catch {
      guard !database.isAutocommit else { throw error }
      try statement("ROLLBACK TO job")
      try statement("RELEASE job")
      unlinkContent(effects.linked[linked...])
      effects.linked.removeSubrange(linked...)
      effects.removed.removeSubrange(removed...)
      return .failure(error)
    }
  }

  /// Undoes what a failed transaction did, under the lock it still holds.
  private func abandon() {
    // Where this fails too, SQLite has rolled back by itself, or the next to open does so.
    if !database.isAutocommit { try? database.execute("ROLLBACK") }
    unlinkContent(effects.linked[...])
  }

  private func read(_ jobs: [IndexJob]) {
    var outcomes: [Result<() -> Void, TransferError>] = []
    var failure: TransferError?
    do throws(TransferError) {
      let isAnswered = try lock.hold(.shared) { () throws(TransferError) in
        try answer(jobs, into: &outcomes, unlessBusy: true)
      }
      if !isAnswered {
        _ = try lock.hold(.exclusive) { () throws(TransferError) in
          try answer(jobs, into: &outcomes, unlessBusy: false)
        }
      }
    } catch {
      failure = error
    }
    for (number, job) in jobs.enumerated() {
      switch (number < outcomes.count ? outcomes[number] : nil, failure) {
      case (.success(let settle), _): settle()
      case (.failure(let error), _), (nil, .some(let error)): job.refuse(error)
      case (nil, nil): preconditionFailure("a read was not answered")
      }
    }
  }

  /// Answers reads from one snapshot; false where a writer was killed while it committed and the
  /// index must be recovered first, which only the exclusive lock allows.
  private func answer(
    _ jobs: [IndexJob],
    into outcomes: inout [Result<() -> Void, TransferError>],
    unlessBusy: Bool
  ) throws(TransferError) -> Bool {
    do throws(SQLiteError) {
      try database.run("BEGIN")
      // The first read recovers, or finds that it may not.
      _ = try database.first("SELECT timetoken FROM clock") { $0.integer(0) }
    } catch {
      if !database.isAutocommit { try? database.execute("ROLLBACK") }
      if unlessBusy, error.kind == .busy { return false }
      throw TransferError(error, index: layout.index)
    }
    for job in jobs {
      do throws(TransferError) {
        outcomes.append(.success(try job.run(self)))
      } catch {
        outcomes.append(.failure(error))
      }
    }
    // A read transaction has nothing to lose: an error of its end changes no answer.
    try? database.run("COMMIT")
    return true
  }

  private func statement(_ sql: String) throws(TransferError) {
    try mapped { () throws(SQLiteError) in try database.run(sql) }
  }
}

extension Index {
  /// Drops the garbage rows the last transaction left, before the index is closed.
  func finish() {
    guard !cleared.isEmpty else { return }
    // What fails here the next start does.
    try? lock.hold(.exclusive) { () throws(TransferError) in
      try execute("BEGIN IMMEDIATE")
      do throws(TransferError) {
        try dropGarbageRows()
        try execute("COMMIT")
      } catch {
        try? database.execute("ROLLBACK")
        throw error
      }
    }
  }
}
