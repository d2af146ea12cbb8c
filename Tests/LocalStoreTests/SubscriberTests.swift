import LocalStore
import Testing
import TransferModel

@Suite struct SubscriberTests {
  private let scratch = Scratch()

  /// Hears messages of channels until `count` have come.
  private static func hear(
    _ store: LocalStore,
    _ channels: [String],
    after: Timetoken,
    count: Int
  ) async throws -> [ChannelMessage] {
    let bell = try await store.bell()
    var heard: [ChannelMessage] = []
    var position = after
    func drain() async throws {
      while true {
        let page = try await store.messages(channels: channels, after: position, limit: 100)
        guard let last = page.last else { return }
        position = last.timetoken
        heard += page
      }
    }
    try await drain()
    if heard.count < count {
      for await _ in bell {
        try await drain()
        if heard.count >= count { break }
      }
    }
    return heard
  }

  @Test func `four stores announce 500 times each and every subscriber hears each once, in order`()
    async throws
  {
    let stores = (0..<4).map { _ in LocalStore(root: scratch.root) }
    let start = try await stores[0].latestTimetoken()
    let given = try await withThrowingTaskGroup(of: [Timetoken].self) { group in
      let subscribers = stores + [LocalStore(root: scratch.root)]
      let hearing = subscribers.map { store in
        Task { try await Self.hear(store, ["c0", "c1", "c2", "c3"], after: start, count: 2000) }
      }
      for (number, store) in stores.enumerated() {
        let file = try await store.send("c\(number)", "f", "x")
        for _ in 0..<10 {
          group.addTask {
            var given: [Timetoken] = []
            for _ in 0..<50 {
              given.append(
                try await store.announce(
                  Announcement(channel: "c\(number)", fileID: file.id, fileName: "f")
                )
              )
            }
            #expect(given == given.sorted())
            return given
          }
        }
      }
      var given: [Timetoken] = []
      for try await some in group { given += some }
      for task in hearing {
        let heard = try await task.value
        #expect(heard.map(\.timetoken) == given.sorted())
      }
      return given
    }
    #expect(Set(given).count == 2000)
  }

  @Test func `a message of another process is heard within 100 ms`() async throws {
    let store = LocalStore(root: scratch.root)
    let start = try await store.latestTimetoken()
    // Two processes that do nothing else: the tests that run beside this one would delay it.
    let hearing = try Child(
      running: StoreChildWork.name,
      environment: ["FERRY_STORE_CHILD": "hear \(scratch.root)"]
    )
    _ = try await Self.hear(store, ["ready"], after: start, count: 1)
    let announcing = try Child(
      running: StoreChildWork.name,
      environment: ["FERRY_STORE_CHILD": "announce \(scratch.root)"]
    )
    for child in [announcing, hearing] {
      let (status, output) = await child.wait()
      #expect(status == 0, "\(output)")
      for line in output.split(separator: "\n") where line.hasPrefix("heard after") { print(line) }
    }
  }

  @Test func `the bell's stream ends when the store closes`() async throws {
    let store = LocalStore(root: scratch.root)
    let streams = [try await store.bell(), try await store.bell()]
    await store.close()
    for stream in streams { for await _ in stream {} }
    #expect(await failure { _ = try await store.bell() }?.code == .shuttingDown)
  }

  @Test func `the listening thread ends with its last listener and comes back for the next`()
    async throws
  {
    let store = LocalStore(root: scratch.root)
    let file = try await store.send("c", "f", "x")
    for round in 1...3 {
      let task = Task {
        try await Self.hear(store, ["c"], after: Timetoken(0), count: round)
      }
      _ = try await store.announce(Announcement(channel: "c", fileID: file.id, fileName: "f"))
      #expect(try await task.value.count == round)
    }
  }
}
