import CLinux
import Foundation
import Glibc
import JSON
import Journal
import Synchronization
import TransferModel

/// A state directory that is gone when the test is.
final class State: Sendable {
  let path: String
  private let troubles = Troubles()

  /// Held by the journals' threads, which may outlast the test a little; the folder must not.
  private final class Troubles: Sendable {
    let told = Mutex<[TransferError]>([])
  }

  init() throws {
    var template = Array("/tmp/ferry-journal.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The folder of a scope.
  func folder(_ scope: String = "s") -> String { "\(path)/journal/\(scope)" }

  /// What was told so far.
  var told: [TransferError] { troubles.told.withLock { $0 } }

  func journal(_ scope: String = "s") -> Journal {
    Journal(stateDirectory: path, scope: scope) { [troubles] error in
      troubles.told.withLock { $0.append(error) }
    }
  }

  /// Names in the folder of a scope, sorted; those that end so, where given.
  func names(_ scope: String = "s", ending: String = "") -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder(scope))) ?? [])
      .filter { $0.hasSuffix(ending) }.sorted()
  }

  /// Puts what the journals of a scope hold at this moment into another scope, as a process that
  /// was killed now would have left it.
  func kill(_ scope: String = "s", into other: String) throws {
    try FileManager.default.createDirectory(
      atPath: folder(other),
      withIntermediateDirectories: true
    )
    for name in names(scope) {
      try FileManager.default.copyItem(
        atPath: "\(folder(scope))/\(name)",
        toPath: "\(folder(other))/\(name)"
      )
    }
  }
}

/// A row as the engine would add it.
func row(_ id: String, _ number: Int64 = 1, state: TransferState = .queued) -> JournalRow {
  JournalRow(
    id: .named(id),
    number: number,
    origin: TransferOrigin(
      method: "object/put",
      params: RawJSON(validated: Array(#"{"ref":"\#(id)"}"#.utf8)),
      sourceIdentity: "1:2:3:4"
    ),
    remote: "local",
    direction: .upload,
    state: state
  )
}

/// An update that sets the bytes moved.
func loaded(_ bytes: Int64) -> JournalUpdate {
  var update = JournalUpdate()
  update.loaded = bytes
  return update
}

extension JournalUpdate {
  /// The end of a transfer: what it took to go on is dropped.
  static func settled(_ state: TransferState, snapshot: [UInt8]) -> JournalUpdate {
    var update = JournalUpdate()
    update.state = state
    update.snapshot = snapshot
    update.progress = .some(nil)
    return update
  }
}

extension Journal {
  /// The row of an id.
  func row(_ id: TransferID) async -> JournalRow? {
    await withCheckedContinuation { continuation in
      rows(ids: [id]) { continuation.resume(returning: $0.first) }
    }
  }
}

extension TransferID {
  static func named(_ text: String) -> TransferID {
    guard let id = TransferID(text) else { preconditionFailure("no id: \(text)") }
    return id
  }
}

extension State {
  /// Flags of mount(2), which two of Swift's modules declare differently.
  static let readOnly: UInt = 1
  static let remount: UInt = 32

  /// Whether this process may mount, which takes root and is forbidden in most containers.
  static let canMount: Bool = {
    guard let state = try? State(), mount("none", state.path, "tmpfs", 0, "size=64k") == 0 else {
      return false
    }
    return umount2(state.path, 0) == 0
  }()
}
