/// RFC 3339 in UTC with milliseconds, as every time on the wire.
enum Time {
  /// The text of a number of milliseconds since 1970-01-01T00:00:00Z, in the years 0 to 9999.
  static func text(_ ms: Int64) -> String {
    let (days, inDay) = ms.quotientAndRemainderFloored(dividingBy: 86_400_000)
    let (year, month, day) = date(days)
    let seconds = inDay / 1000
    // Digit by digit: joining strings was a third of what `transfer/get` takes.
    return String(unsafeUninitializedCapacity: 24) { text in
      text.put(year, digits: 4, at: 0, then: "-")
      text.put(month, digits: 2, at: 5, then: "-")
      text.put(day, digits: 2, at: 8, then: "T")
      text.put(seconds / 3600, digits: 2, at: 11, then: ":")
      text.put(seconds / 60 % 60, digits: 2, at: 14, then: ":")
      text.put(seconds % 60, digits: 2, at: 17, then: ".")
      text.put(inDay % 1000, digits: 3, at: 20, then: "Z")
      return 24
    }
  }

  /// Days since 1970 to a date of the Gregorian calendar, after Howard Hinnant's
  /// `civil_from_days`: years begin in March, so that the leap day comes last.
  private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let (era, dayOfEra) = shifted.quotientAndRemainderFloored(dividingBy: 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}

extension UnsafeMutableBufferPointer<UInt8> {
  fileprivate func put(_ value: Int64, digits: Int, at start: Int, then end: Unicode.Scalar) {
    var rest = value.magnitude
    for place in stride(from: start + digits - 1, through: start, by: -1) {
      self[place] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
    self[start + digits] = UInt8(ascii: end)
  }
}

extension Int64 {
  fileprivate func quotientAndRemainderFloored(dividingBy divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
