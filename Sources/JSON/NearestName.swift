/// Finds the known name that a misspelt one most likely meant.
package enum NearestName {
  /// The closest of `known` to `name`, or nil when none is close.
  ///
  /// Case does not count. Insertions, deletions, substitutions and swaps of neighbours each cost
  /// one (optimal string alignment); a third of the longer name may differ, and three at most.
  package static func find(_ name: String, in known: [String]) -> String? {
    guard !name.isEmpty, name.utf8.count <= 64 else { return nil }
    let wanted = Array(name.lowercased().utf8)
    var best: (distance: Int, name: String)?
    for candidate in known {
      let letters = Array(candidate.lowercased().utf8)
      let limit = min(3, max(1, max(letters.count, wanted.count) / 3))
      guard abs(letters.count - wanted.count) <= limit else { continue }
      let distance = distance(wanted, letters)
      if distance <= limit, distance < best?.distance ?? .max { best = (distance, candidate) }
    }
    return best?.name
  }

  private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (row, letter) in left.enumerated() {
      var current = [row + 1]
      for (column, other) in right.enumerated() {
        var cost = min(
          last[column + 1] + 1,
          current[column] + 1,
          last[column] + (letter == other ? 0 : 1)
        )
        if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
          cost = min(cost, beforeLast[column - 1] + 1)
        }
        current.append(cost)
      }
      (beforeLast, last) = (last, current)
    }
    return last[right.count]
  }
}
