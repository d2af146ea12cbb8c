internal import JSON
internal import TransferEngine
internal import TransferModel

/// The files of one batch and where each stands; a value without clock or I/O.
///
/// It decides who may come in, what a retry and a removal mean, and when the batch is complete.
struct Batch {
  var settings: BatchSettings
  private var files: [File?] = []
  /// Where each file is in `files`.
  private var indices: [ExactString: Int] = [:]
  private var removed = 0
  private var lastPlace: Int64 = 0
  /// Files that are queued, running, paused or about to be tried again.
  private var live = 0
  /// Calls that are being taken in.
  private var calls = 0
  /// Whether something was asked of it since it was last complete.
  private var isOpen = false
  /// Files that count against the limit.
  private(set) var held = 0
  /// Messages that were asked for and not answered.
  private(set) var asked: [Asked] = []
  /// What the last send of media messages left to be done.
  var unfinished: Unfinished?
  /// Why files were refused that are no transfers.
  private(set) var refusals: [ExactString: TransferError] = [:]

  /// One file.
  struct File {
    let id: String
    var transfer: TransferID
    let place: Int64
    var kind: AttachmentKind
    var state = TransferState.queued
    /// Whether it takes one of the places that `maxFileCount` gives.
    var isHeld = true
    var isSent = false
    /// Whether it is being announced.
    var isSending = false
    /// Whether a message was asked for that shows it, and was not answered: it may have been made.
    var isInDoubt = false
    /// Whether it has failed and will be tried again unasked.
    var isRetrying = false
    /// How often it was tried again unasked since somebody asked.
    var retries = 0

    /// Whether the batch waits for it.
    var isLive: Bool {
      switch state {
      case .queued, .running, .paused: true
      case .failed: isRetrying
      case .succeeded, .rejected, .cancelled, .interrupted: false
      }
    }
  }

  init(_ settings: BatchSettings, asked: [Asked] = [], unfinished: Unfinished? = nil) {
    self.settings = settings
    self.asked = asked
    self.unfinished = unfinished
  }

  var isIdle: Bool { live == 0 }

  /// Those that are there, in the order they were added.
  var all: some Sequence<File> { files.lazy.compactMap { $0 } }

  /// The files behind a place, in the order they were added.
  func files(behind place: Int64) -> some Sequence<File> {
    var (low, high) = (0, files.count)
    while low < high {
      let middle = (low + high) / 2
      // Gaps are as good as what stands before them.
      if let file = files[low...middle].last(where: { $0 != nil }) ?? nil, file.place > place {
        high = middle
      } else {
        low = middle + 1
      }
    }
    return files[low...].lazy.compactMap { $0 }
  }

  subscript(id: String) -> File? { indices[id].flatMap { files[$0] } }

  /// How many files are in each state.
  var counts: [TransferState: Int] { all.reduce(into: [:]) { $0[$1.state, default: 0] += 1 } }
}

// MARK: - Files come and go

extension Batch {
  /// What becomes of a file that is to be added.
  enum Addition: Equatable {
    case new(place: Int64, hasPlace: Bool)
    /// It takes the place of one that failed.
    case again(place: Int64, instead: TransferID)
    /// The one there is stays as it is.
    case duplicate
  }

  /// A call brings files; until `endCall` the batch is not complete.
  mutating func beginCall() {
    calls += 1
    isOpen = true
  }

  mutating func endCall() { calls -= 1 }

  /// Enters a file, unless one of its id is live; `limit` is the most files it may have.
  mutating func add(
    _ id: String,
    _ transfer: TransferID,
    _ kind: AttachmentKind,
    limit: Int?
  ) -> Addition {
    if let old = self[id] {
      guard old.state == .interrupted || old.state == .failed, !old.isRetrying else {
        return .duplicate
      }
      change(id) { file in
        file.transfer = transfer
        file.kind = kind
        file.state = .queued
        file.retries = 0
      }
      return .again(place: old.place, instead: old.transfer)
    }
    let hasPlace = limit.map { held < $0 } ?? true
    lastPlace += 1
    let file = File(id: id, transfer: transfer, place: lastPlace, kind: kind)
    indices[id] = files.count
    files.append(file)
    held += 1
    live += 1
    return .new(place: lastPlace, hasPlace: hasPlace)
  }

  /// A file was refused before it was queued: it takes no place.
  mutating func refuse(_ id: String) {
    change(id) { $0.isHeld = false }
  }

  /// A file was refused before it was a transfer.
  mutating func refuse(_ id: String, because error: TransferError) {
    refusals[id] = error
    change(id) { file in
      file.isHeld = false
      file.state = .rejected
    }
  }

  /// Takes a file out.
  mutating func remove(_ id: String) -> File? {
    guard let index = indices.removeValue(forKey: ExactString(id)), let file = files[index]
    else { return nil }
    if file.isInDoubt { settle([Asked.File(id: id, transfer: file.transfer)]) }
    if file.isLive { live -= 1 }
    if file.isHeld { held -= 1 }
    files[index] = nil
    refusals[id] = nil
    removed += 1
    if removed > 1024, removed * 2 > files.count {
      files.removeAll { $0 == nil }
      removed = 0
      for (index, file) in files.enumerated() {
        if let file { indices[file.id] = index }
      }
    }
    return file
  }

  /// Enters what an earlier process left; call it in the order of the places.
  /// - Returns: false where there is such a file already.
  mutating func restore(_ restored: RestoredFile) -> Bool {
    guard self[restored.file.file] == nil else { return false }
    var file = File(
      id: restored.file.file,
      transfer: restored.id,
      place: max(lastPlace + 1, restored.file.place),
      kind: AttachmentKind(contentType: restored.contentType)
    )
    file.state = restored.state.isSettled ? restored.state : .interrupted
    file.isSent = restored.isAnnounced
    file.isInDoubt = asked.contains { $0.files.contains { $0.transfer == restored.id } }
    file.isHeld = restored.state != .rejected
    lastPlace = file.place
    indices[file.id] = files.count
    files.append(file)
    if file.isHeld { held += 1 }
    return true
  }

  /// Changes a file and keeps the numbers true.
  mutating func change(_ id: String, _ body: (inout File) -> Void) {
    guard let index = indices[id], var file = files[index] else { return }
    let before = (file.isLive, file.isHeld)
    body(&file)
    live += (file.isLive ? 1 : 0) - (before.0 ? 1 : 0)
    held += (file.isHeld ? 1 : 0) - (before.1 ? 1 : 0)
    files[index] = file
  }
}

// MARK: - What happens to them

extension Batch {
  /// Whether an event is about a file that is still part of the batch.
  func has(_ transfer: TransferID, as id: String) -> Bool { self[id]?.transfer == transfer }

  /// A file goes on or stops.
  mutating func moved(_ id: String, to state: TransferState) {
    change(id) { $0.state = state }
  }

  /// The process ends, and leaves a file to a later one: the batch is not complete for that.
  mutating func suspended(_ id: String) {
    change(id) { $0.state = .interrupted }
    isOpen = false
  }

  /// A file has failed.
  /// - Returns: whether it is to be tried again unasked.
  mutating func failed(_ id: String, isRetryable: Bool) -> Bool {
    var isRetrying = false
    let limit = settings.pace.retries
    change(id) { file in
      isRetrying = isRetryable && file.retries < limit
      file.state = .failed
      file.isRetrying = isRetrying
      if isRetrying { file.retries += 1 }
    }
    return isRetrying
  }

  /// Puts a file that failed, or that an earlier process left, in line again.
  /// - Returns: nil where it is in no such state.
  mutating func retry(_ id: String, isAsked: Bool) -> TransferID? {
    guard let file = self[id], file.state == .failed || file.state == .interrupted,
      isAsked || file.isRetrying
    else { return nil }
    isOpen = true
    change(id) { file in
      file.state = .queued
      file.isRetrying = false
      if isAsked { file.retries = 0 }
    }
    return file.transfer
  }

  /// Whether it is complete now, and was not when this was last asked.
  mutating func becomesComplete() -> Bool {
    guard isOpen, calls == 0, live == 0 else { return false }
    isOpen = false
    return true
  }

  /// Picks files to announce: uploaded, not yet sent, of those named and of the kind where any is.
  ///
  /// Those in doubt only where they are named.
  mutating func beginSending(_ ids: [String]?, _ kind: AttachmentKind? = nil) -> [File] {
    let wanted = ids.map { Set($0.map { ExactString($0) }) }
    let files = all.filter { file in
      file.state == .succeeded && !file.isSent && !file.isSending
        && (wanted?.contains(ExactString(file.id)) ?? !file.isInDoubt)
        && (kind ?? file.kind) == file.kind
    }
    for file in files { change(file.id) { $0.isSending = true } }
    return files
  }

  /// A file that was picked is announced, or not.
  /// - Returns: whether it is still part of the batch.
  mutating func endSending(_ picked: File, isSent: Bool) -> Bool {
    guard has(picked.transfer, as: picked.id) else { return false }
    change(picked.id) { file in
      file.isSending = false
      if isSent { file.isSent = true }
    }
    return true
  }
}

// MARK: - Messages in doubt

extension Batch {
  /// Messages are about to be asked for; they replace what is in doubt of their files.
  /// - Returns: what they replace.
  mutating func ask(_ messages: [Asked]) -> [Asked] {
    let files = messages.flatMap(\.files)
    let before = asked.compactMap { $0.showing(files) }
    settle(files)
    asked += messages
    for file in files where has(file.transfer, as: file.id) {
      change(file.id) { $0.isInDoubt = true }
    }
    return before
  }

  /// No message was made of these files: what was in doubt of them before, is again.
  mutating func withdraw(_ files: [Asked.File], before: [Asked]) {
    settle(files)
    let there = files.filter { has($0.transfer, as: $0.id) }
    for old in before.compactMap({ $0.showing(there) }) {
      if let index = asked.firstIndex(where: { $0.message == old.message }) {
        asked[index].files += old.files
      } else {
        asked.append(old)
      }
      for file in old.files { change(file.id) { $0.isInDoubt = true } }
    }
  }

  /// Takes the files of a message that was found to be made, as sending them does.
  /// - Returns: whether it is still in doubt, and nobody is sending or noting them.
  mutating func claim(_ message: Asked, isMade: Bool) -> Bool {
    guard asked.contains(message),
      !message.files.contains(where: { self[$0.id]?.isSending == true })
    else { return false }
    if isMade { for file in message.files { change(file.id) { $0.isSending = true } } }
    return true
  }

  /// All files of an earlier process are there: nothing is in doubt of those that are sent or gone.
  mutating func endRestore() {
    let known = asked.flatMap(\.files).filter { file in
      !has(file.transfer, as: file.id) || self[file.id]?.isSent == true
    }
    for message in asked where message.files.allSatisfy(known.contains) {
      if message.files.contains(where: { self[$0.id]?.isSent == true }) { noteTold(message) }
    }
    settle(known)
  }

  /// A message is told that may be one of those the last send left to be done.
  mutating func noteTold(_ message: Asked) {
    guard unfinished?.shows(message) == true else { return }
    let files = Set(message.files.map { ExactString($0.id) })
    unfinished?.sent += 1
    unfinished?.files.removeAll(where: files.contains)
  }

  /// Messages of the last send of which nobody can tell whether they are told.
  var unfinishedDoubts: Int {
    asked.count { message in
      unfinished?.shows(message) == true
        && message.files.contains { self[$0.id]?.isSending != true }
    }
  }

  /// What became of the messages that show these files is known.
  mutating func settle(_ files: [Asked.File]) {
    for index in asked.indices { asked[index].files.removeAll(where: files.contains) }
    asked.removeAll { $0.files.isEmpty }
    for file in files where has(file.transfer, as: file.id) {
      change(file.id) { $0.isInDoubt = false }
    }
  }
}
