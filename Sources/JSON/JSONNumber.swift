/// Reads the text of JSON numbers without going through a double.
enum JSONNumber {
  /// The value of an integral number, or nil for fractions and values outside of Int64.
  static func integer(_ text: ArraySlice<UInt8>) -> Int64? {
    var digits: [UInt8] = []
    var index = text.startIndex
    let isNegative = text[index] == UInt8(ascii: "-")
    if isNegative { index += 1 }
    var exponent = 0
    var isFraction = false
    while index < text.endIndex {
      switch text[index] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        if !(digits.isEmpty && text[index] == UInt8(ascii: "0")) { digits.append(text[index]) }
        if isFraction { exponent -= 1 }
      case UInt8(ascii: "."): isFraction = true
      default:  // e or E
        guard let written = Int(String(decoding: text[(index + 1)...], as: UTF8.self)) else {
          return digits.allSatisfy { $0 == UInt8(ascii: "0") } ? 0 : nil
        }
        return value(digits, exponent: exponent, written: written, isNegative)
      }
      index += 1
    }
    return value(digits, exponent: exponent, written: 0, isNegative)
  }

  private static func value(
    _ digits: [UInt8],
    exponent: Int,
    written: Int,
    _ isNegative: Bool
  ) -> Int64? {
    var digits = digits
    guard !digits.isEmpty else { return 0 }
    let (sum, overflow) = exponent.addingReportingOverflow(written)
    guard !overflow else { return nil }
    var exponent = sum
    while exponent < 0, digits.last == UInt8(ascii: "0") {
      digits.removeLast()
      exponent += 1
    }
    guard exponent >= 0, exponent < 20, digits.count + exponent < 20 else { return nil }
    digits.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: exponent))
    // The sign goes in first: the magnitude of Int64.min does not fit Int64.
    return Int64((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self))
  }
}
