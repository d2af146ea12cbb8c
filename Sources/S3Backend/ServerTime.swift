/// The notations of time that S3 uses, as milliseconds since 1970.
enum ServerTime {
  /// `20150830T123600Z`, which signatures are made of.
  static func basic(_ milliseconds: Int64) -> String {
    let seconds = floor(milliseconds, 1000)
    let (year, month, day) = civil(floor(seconds, 86_400))
    let second = seconds - floor(seconds, 86_400) * 86_400
    return padded(year, 4) + padded(month, 2) + padded(day, 2) + "T" + padded(second / 3600, 2)
      + padded(second / 60 % 60, 2) + padded(second % 60, 2) + "Z"
  }

  /// `Wed, 12 Oct 2009 17:50:00 GMT` of HTTP headers.
  static func parse(http text: String) -> Int64? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: parts[2]),
      let day = number(parts[1]), let year = number(parts[3])
    else { return nil }
    return milliseconds(year, Int64(month) + 1, day, clock: parts[4])
  }

  /// `2009-10-12T17:50:30.000Z` of XML answers.
  static func parse(iso text: String) -> Int64? {
    guard text.hasSuffix("Z") else { return nil }
    let halves = text.dropLast().split(separator: "T")
    guard halves.count == 2 else { return nil }
    let date = halves[0].split(separator: "-")
    let time = halves[1].split(separator: ".")
    guard date.count == 3, (1...2).contains(time.count), let year = number(date[0]),
      let month = number(date[1]), let day = number(date[2]),
      let whole = milliseconds(year, month, day, clock: time[0])
    else { return nil }
    guard time.count == 2 else { return whole }
    guard let fraction = number(time[1].prefix(3)) else { return nil }
    return whole
      + (time[1].count >= 3 ? fraction : time[1].count == 2 ? fraction * 10 : fraction * 100)
  }

  private static let months: [Substring] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func milliseconds(
    _ year: Int64,
    _ month: Int64,
    _ day: Int64,
    clock: Substring
  ) -> Int64? {
    let parts = clock.split(separator: ":")
    guard parts.count == 3, let hour = number(parts[0]), let minute = number(parts[1]),
      let second = number(parts[2]), (1...12).contains(month), (1...31).contains(day),
      (1970...9999).contains(year), hour < 24, minute < 60, second <= 60
    else { return nil }
    return ((days(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000
  }

  /// Days since 1970 of a date of the Gregorian calendar; years start in March, so that a leap day
  /// is a year's last.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month > 2 ? year : year - 1
    let era = floor(shifted, 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = floor(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
    return (year, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
  }

  private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
    (value - (value % divisor + divisor) % divisor) / divisor
  }

  private static func padded(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  private static func number(_ text: Substring) -> Int64? {
    guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) else {
      return nil
    }
    return Int64(text)
  }
}
