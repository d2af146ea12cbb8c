package import TransferModel

/// Secrets that were replaced: requests with them may be under way, so they stay out of all words too.
package struct SpentSecrets: Sendable {
  /// The latest of them.
  package private(set) var all: [Secret] = []
  /// So many are remembered; an hour's worth of tokens that last a minute.
  static let limit = 64

  /// None yet.
  package init() {}

  /// Remembers what is about to be out of use.
  package mutating func add(_ secrets: [Secret?]) {
    let new = secrets.compactMap { $0 }
    all = (all.filter { !new.contains($0) } + new).suffix(Self.limit)
  }
}
