import Synchronization
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

  @Test("A long line keeps its order")
  func longLine() {
    var lanes = Lanes(HTTPLimits(bulk: 1))
    for id in 0..<5000 { lanes.enter(id, .bulk) }
    for id in 0..<5000 {
      #expect(lanes.next() == id)
      lanes.leave(id, .bulk)
      lanes.enter(5000 + id, .bulk)
    }
    #expect(lanes.next() == 5000)
    #expect(lanes.waiting == 4999)
  }

  @Test("On the wire: two contents at once, a call beside them, and polls that hold nobody up")
  func onTheWire() async throws {
    let release = Gate()
    let bulk = Mutex((now: 0, most: 0))
    let polls = Tally()
    try await withServer(limits: HTTPLimits(bulk: 2, calls: 1)) { peer in
      while let request = try peer.request() {
        if request.line.contains("/bulk") {
          bulk.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
          release.wait()
          bulk.withLock { $0.now -= 1 }
        } else if request.line.contains("/poll") {
          polls.add(1)
          release.wait()
        }
        try peer.answer(200)
      }
    } _: { client, server in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for lane in [HTTPLane.bulk, .poll] {
          for _ in 0..<6 {
            var request = HTTPRequest.get(server, lane == .bulk ? "/bulk" : "/poll")
            request.lane = lane
            group.addTask { [request] in
              try await client.send(request, with: .direct()).status
            }
          }
        }
        while polls.sum < 6 || bulk.withLock({ $0.now }) < 2 { await Task.yield() }
        #expect(try await client.send(.get(server, "/call"), with: .direct()).status == 200)
        let statistics = client.statistics
        #expect(statistics.bulk == 2)
        #expect(statistics.polls == 6)
        #expect(statistics.waiting == 4)
        release.open()
        for try await status in group { #expect(status == 200) }
        #expect(bulk.withLock { $0.most } == 2)
      }
    }
  }
}

@Suite("First contact with a remote")
struct FirstContactTests {
  private let now = ContinuousClock.now

  private func origin(_ text: String) throws -> HTTPOrigin { try HTTPOrigin(text) }

  @Test("Others wait until the first is through, and not again for a while")
  func othersWait() throws {
    var contacts = FirstContacts()
    let host = try origin("https://host")
    let first = contacts.mayBegin(1, host, now: now)
    let second = contacts.mayBegin(2, host, now: now)
    let third = contacts.mayBegin(3, host, now: now)
    let elsewhere = contacts.mayBegin(4, try origin("https://other"), now: now)
    #expect([first, second, third, elsewhere] == [true, false, false, true])
    #expect(contacts.reached(2, host, now: now) == [])
    #expect(contacts.reached(1, host, now: now) == [2, 3])
    let soon = contacts.mayBegin(5, host, now: now + .seconds(49))
    let alsoSoon = contacts.mayBegin(6, host, now: now + .seconds(49))
    #expect(soon && alsoSoon)
    let later = contacts.mayBegin(7, host, now: now + .seconds(51))
    let second7 = contacts.mayBegin(8, host, now: now + .seconds(51))
    #expect(later && !second7)
  }

  @Test("Where the first fails, the others try each for itself")
  func firstFails() throws {
    var contacts = FirstContacts()
    let host = try origin("http://host:81")
    let first = contacts.mayBegin(1, host, now: now)
    #expect(first)
    let second = contacts.mayBegin(2, host, now: now)
    #expect(!second)
    #expect(contacts.ended(2, host) == [])
    #expect(contacts.ended(1, host) == [2])
  }

  @Test(
    "An address needs no lookup and, without TLS, no waiting",
    arguments: ["10.0.0.1", "[::1]:80"]
  )
  func addresses(host: String) throws {
    var contacts = FirstContacts()
    for id in 1...3 {
      let mayBegin = contacts.mayBegin(id, try origin("http://\(host)"), now: now)
      #expect(mayBegin)
    }
    let fourth = contacts.mayBegin(4, try origin("https://\(host)"), now: now)
    #expect(fourth)
    let fifth = contacts.mayBegin(5, try origin("https://\(host)"), now: now)
    #expect(!fifth)
  }

  @Test(
    "Origins are told with their port",
    arguments: [
      ("http://a", "a:80"), ("https://a", "a:443"), ("http://a:81", "a:81"),
      ("http://[::1]", "[::1]:80"), ("https://[::1]:9", "[::1]:9"),
    ]
  )
  func shown(text: String, shown: String) throws {
    #expect(try origin(text).shown == shown)
  }
}
