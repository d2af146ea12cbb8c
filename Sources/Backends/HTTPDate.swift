/// Moments as servers write them.
package enum HTTPDate {
  /// Milliseconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7); nil for other
  /// forms.
  package static func milliseconds(_ text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]),
      let month = months.firstIndex(of: String(words[2])), let year = Int64(words[3])
    else { return nil }
    let time = words[4].split(separator: ":").compactMap { Int64($0) }
    guard time.count == 3, time.allSatisfy({ (0...60).contains($0) }), (1...31).contains(day),
      (1970...9999).contains(year)
    else { return nil }
    // Days since 1970 in the Gregorian calendar, with years that begin in March.
    let shifted = year - (month < 2 ? 1 : 0)
    let days =
      365 * shifted + shifted / 4 - shifted / 100 + shifted / 400
      + (153 * Int64((month + 10) % 12) + 2) / 5 + day - 1 - 719_468
    return (((days * 24 + time[0]) * 60 + time[1]) * 60 + time[2]) * 1000
  }

  /// Milliseconds since 1970 of `2025-05-05T17:26:44Z`, perhaps with a fraction, which is dropped;
  /// nil for other forms.
  package static func iso8601Milliseconds(_ text: String) -> Int64? {
    let parts = text.split { !$0.isNumber }.compactMap { Int64($0) }
    guard parts.count >= 6, text.hasSuffix("Z"), (1...12).contains(parts[1]) else { return nil }
    let time = "\(parts[3]):\(parts[4]):\(parts[5])"
    return milliseconds("Day, \(parts[2]) \(months[Int(parts[1]) - 1]) \(parts[0]) \(time) GMT")
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
