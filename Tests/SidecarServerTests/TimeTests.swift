import Testing

@testable import SidecarServer

@Suite("Times on the wire")
struct TimeTests {
  @Test(
    "RFC 3339 in UTC",
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"),
      (-1, "1969-12-31T23:59:59.999Z"),
      (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
      (1_796_029_759_530, "2026-11-30T09:09:19.530Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ] as [(Int64, String)]
  )
  func text(ms: Int64, expected: String) {
    #expect(Time.text(ms) == expected)
  }

  @Test(
    "Per cent is whole, and 100 means all",
    arguments: [
      (0, 0, 100), (0, 5, 0), (1, 3, 33), (999_999, 1_000_000, 99), (5, 5, 100),
      (Int64.max - 1, Int64.max, 99),
    ] as [(Int64, Int64, Int)]
  )
  func percentage(loaded: Int64, total: Int64, expected: Int) {
    #expect(percent(loaded, of: total) == expected)
  }
}
