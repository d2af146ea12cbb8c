import JSON
import Testing
import TransferModel

@testable import SidecarServer

@Suite("Pages of a line")
struct PagingTests {
  private let settings = ServerSettings(rootPath: "/")

  private func items(_ count: Int, of bytes: Int) -> [RawJSON] {
    let text = "\"" + String(repeating: "x", count: bytes - 2) + "\""
    return Array(repeating: RawJSON(validated: Array(text.utf8)), count: count)
  }

  /// The limits of the pages that were asked for, whose items have these sizes one after another,
  /// and the number of items in the last one.
  private func asked(
    _ limit: Int,
    _ sizes: [Int],
    gives: @escaping (Int) -> Int = { $0 }
  ) async throws -> ([Int], Int) {
    var limits: [Int] = []
    let page = try await fitting(limit, settings) { limit throws(TransferError) in
      limits.append(limit)
      return items(gives(limit), of: sizes[min(limits.count, sizes.count) - 1])
    } items: {
      $0
    }
    return (limits, page.count)
  }

  @Test("A page that fits is asked for once, and others until they do")
  func fits() async throws {
    #expect(try await asked(100, [100]) == ([100], 100))
    #expect(try await asked(100, [10_000]) == ([100, 5], 5))
    // What comes may be longer than what was there before.
    #expect(try await asked(100, [10_000, 20_000]) == ([100, 5, 2], 2))
    #expect(try await asked(100, [10_000, 100_000]) == ([100, 5, 1], 1))
  }

  @Test("A remote that gives more than it was asked for is not asked for ever")
  func generous() async throws {
    #expect(try await asked(3, [50_000]) { _ in 3 } == ([3, 1], 3))
  }
}
