/// RFC 3339 in UTC with milliseconds, as every time on the wire.
enum Time {
  /// The text of a number of milliseconds since 1970-01-01T00:00:00Z, in the years 0 to 9999.
  static func text(_ ms: Int64) -> String {
    let (days, inDay) = ms.quotientAndRemainderFloored(dividingBy: 86_400_000)
    let (year, month, day) = date(days)
    let seconds = inDay / 1000
    // Digit by digit: joining strings was a third of what `transfer/get` takes.
    var text: [UInt8] = []
    text.reserveCapacity(24)
    text.append(year, digits: 4)
    text.append(month, digits: 2, after: "-")
    text.append(day, digits: 2, after: "-")
    text.append(seconds / 3600, digits: 2, after: "T")
    text.append(seconds / 60 % 60, digits: 2, after: ":")
    text.append(seconds % 60, digits: 2, after: ":")
    text.append(inDay % 1000, digits: 3, after: ".")
    text.append(UInt8(ascii: "Z"))
    return String(decoding: text, as: UTF8.self)
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

extension [UInt8] {
  fileprivate mutating func append(
    _ value: Int64,
    digits: Int,
    after separator: Unicode.Scalar? = nil
  ) {
    if let separator { append(UInt8(ascii: separator)) }
    var divisor: UInt64 = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
      append(UInt8(ascii: "0") + UInt8(value.magnitude / divisor % 10))
      divisor /= 10
    }
  }
}

extension Int64 {
  fileprivate func quotientAndRemainderFloored(dividingBy divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
