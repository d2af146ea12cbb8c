import Testing
import TransferModel

@testable import HTTP

@Suite("Who may use a connection")
struct LaneTests {
  @Test("Bulk requests begin in the order they came, up to the limit")
  func bulkIsBounded() {
    var lanes = Lanes(HTTPLimits(bulk: 2, calls: 1))
    for id in 1...4 { lanes.enter(id, .bulk) }
    #expect(lanes.next() == 1)
    #expect(lanes.next() == 2)
    #expect(lanes.next() == nil)
    #expect(lanes.waiting == 2)
    lanes.leave(1, .bulk)
    #expect(lanes.next() == 3)
    lanes.leave(4, .bulk)
    #expect(lanes.waiting == 0)
    lanes.leave(2, .bulk)
    #expect(lanes.next() == nil)
    #expect(lanes.bulkInUse == 1)
  }

  @Test("Calls and polls do not wait for contents")
  func othersPass() {
    var lanes = Lanes(HTTPLimits(bulk: 1, calls: 1))
    lanes.enter(1, .bulk)
    lanes.enter(2, .bulk)
    #expect(lanes.next() == 1)
    lanes.enter(3, .call)
    lanes.enter(4, .call)
    for id in 5...50 { lanes.enter(id, .poll) }
    for id in 5...50 { #expect(lanes.next() == id) }
    #expect(lanes.next() == 3)
    #expect(lanes.next() == nil)
    #expect(lanes.pollsInUse == 46)
    #expect(lanes.callsInUse == 1)
    #expect(lanes.waiting == 2)
  }
}
