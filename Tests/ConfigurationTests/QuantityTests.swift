import Testing

@testable import Configuration

@Suite("Sizes, times and numbers")
struct QuantityTests {
  @Test(
    "A size is a number of bytes",
    arguments: [
      ("0", 0), ("1", 1), ("1B", 1), ("1 B", 1), ("5 MiB", 5_242_880), ("5MiB", 5_242_880),
      ("5 MB", 5_000_000), ("5  MB", 5_000_000), ("1 kB", 1000), ("1 KB", 1000), ("1 KiB", 1024),
      ("1.5 GiB", 1_610_612_736), ("0.5 KiB", 512), ("1.0 kB", 1000), ("0.1 KiB", 102),
      ("1.000001 MB", 1_000_001), ("1 GB", 1_000_000_000), ("1 TB", 1_000_000_000_000),
      ("1 TiB", 1_099_511_627_776), ("2147483647", 2_147_483_647), ("2147483648", 2_147_483_648),
      ("2147483649", 2_147_483_649), ("2 GiB", 2_147_483_648),
      ("9223372036854775807", 9_223_372_036_854_775_807),
      ("8388607 TiB", 9_223_370_937_343_148_032), ("8388607.999999 TiB", 9_223_372_036_853_676_296),
    ] as [(String, Int64)]
  )
  func bytes(_ text: String, _ expected: Int64) {
    #expect(Quantity.bytes(text) == expected)
  }

  @Test(
    "What is no size, or does not fit, is none",
    arguments: [
      "", " ", "MiB", "-1", "+1", "1.5", "1.5 B", "1.", ".5 MiB", "1.MiB", "1.2.3 MiB", "1,5 MiB",
      "5 M",
      "5 mib", "5 MIB", "5 MiB/s", "5 MiB ", " 5", "5 ", "0x10", "010", "00", "1e3", "1_000", "٣",
      "５", "1.٣ MiB",
      "inf", ".inf", "NaN", "9223372036854775808", "99999999999999999999", "8388608 TiB",
      "9223372036854775807 KiB", "1.0000001 MB",
    ]
  )
  func noBytes(_ text: String) {
    #expect(Quantity.bytes(text) == nil)
  }

  @Test(
    "A time is a number of milliseconds",
    arguments: [
      ("0s", 0), ("1ms", 1), ("500ms", 500), ("500 ms", 500), ("30s", 30_000), ("15m", 900_000),
      ("2h", 7_200_000), ("7d", 604_800_000), ("1.5s", 1500), ("0.25h", 900_000), ("0.0001s", 0),
      ("9223372036854775807ms", .max), ("9223372036854775s", 9_223_372_036_854_775_000),
    ] as [(String, Int64)]
  )
  func milliseconds(_ text: String, _ expected: Int64) {
    #expect(Quantity.milliseconds(text) == expected)
  }

  @Test(
    "What is no time, has no unit or does not fit is none",
    arguments: [
      "", "30", "0", "s", "-1s", "1.5ms", "1w", "1 S", "1min", "30 sec", "1h30m",
      "9223372036854776s",
      "9223372036854775808ms",
    ]
  )
  func noMilliseconds(_ text: String) {
    #expect(Quantity.milliseconds(text) == nil)
  }

  @Test(
    "Whole numbers are plain digits",
    arguments: [
      ("0", 0), ("7", 7), ("10", 10), ("9223372036854775807", .max), ("9223372036854775808", nil),
      ("", nil), ("-1", nil), ("+1", nil), ("01", nil), ("0x1", nil), ("1.0", nil), ("1 ", nil),
      ("１", nil),
    ] as [(String, Int64?)]
  )
  func integers(_ text: String, _ expected: Int64?) {
    #expect(Quantity.integer(text) == expected)
  }
}
