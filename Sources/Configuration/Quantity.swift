/// Numbers with units, as configurations write them: `5 MiB`, `1.5 GB`, `30s`.
enum Quantity {
  /// Bytes per unit of size; a number alone is bytes.
  static let sizes: KeyValuePairs<String, Int64> = [
    "B": 1, "kB": 1000, "KB": 1000, "KiB": 1 << 10, "MB": 1_000_000, "MiB": 1 << 20,
    "GB": 1_000_000_000, "GiB": 1 << 30, "TB": 1_000_000_000_000, "TiB": 1 << 40,
  ]
  /// Milliseconds per unit of time; a number alone is refused, since seconds and milliseconds
  /// are both common elsewhere.
  static let times: KeyValuePairs<String, Int64> = [
    "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000,
  ]

  /// A size in bytes; nil where the text is none or does not fit.
  static func bytes(_ text: String) -> Int64? { parse(text, units: sizes, bare: 1) }

  /// A time in whole milliseconds; nil where the text is none or does not fit.
  static func milliseconds(_ text: String) -> Int64? { parse(text, units: times, bare: nil) }

  /// A whole number without sign, leading zeros or other notations; nil where it is none.
  static func integer(_ text: String) -> Int64? {
    guard isNumeral(text[...]) else { return nil }
    return Int64(text)
  }

  /// Decimals need a unit above the smallest; what is left below one byte or millisecond is dropped.
  private static func parse(
    _ text: String,
    units: KeyValuePairs<String, Int64>,
    bare: Int64?
  ) -> Int64? {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = text[number.endIndex...].drop { $0 == " " }
    guard let factor = unit.isEmpty ? bare : units.first(where: { $0.key == unit })?.value,
      // A space needs a unit after it.
      !unit.isEmpty || number.endIndex == text.endIndex
    else { return nil }
    let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, isNumeral(whole), let units = Int64(whole) else { return nil }
    let (base, overflow) = units.multipliedReportingOverflow(by: factor)
    guard !overflow else { return nil }
    guard parts.count == 2 else { return base }
    guard (1...6).contains(parts[1].count), parts[1].allSatisfy(\.isNumber),
      let digits = Int64(parts[1]), factor > 1
    else { return nil }
    let scale = parts[1].reduce(Int64(1)) { scale, _ in scale * 10 }
    // At most 10^6 times 2^40, which fits.
    let (sum, tooLarge) = base.addingReportingOverflow(digits * factor / scale)
    return tooLarge ? nil : sum
  }

  private static func isNumeral(_ text: Substring) -> Bool {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      && !text.isEmpty && (text.count == 1 || text.first != "0")
  }
}
