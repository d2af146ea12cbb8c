import Testing

@testable import TransferEngine
@testable import TransferModel

@Suite("Who gets the next slot")
struct AdmissionQueueTests {
  static func id(_ text: String) throws -> TransferID { try #require(TransferID(text)) }

  static func queue(
    _ concurrency: Int,
    _ waiting: [(String, String, AdmissionQueue.Size)],
    perRemote: Int = 64
  ) throws -> AdmissionQueue {
    var queue = AdmissionQueue(concurrency: concurrency)
    for (name, remote, size) in waiting {
      queue.enqueue(try id(name), remote: remote, size: size, concurrency: perRemote)
    }
    return queue
  }

  static func admitted(_ queue: inout AdmissionQueue) -> [String] {
    var names: [String] = []
    while let id = queue.admitNext() { names.append(id.description) }
    return names
  }

  @Test("First in, first out, up to the number of slots")
  func order() throws {
    var queue = try Self.queue(2, [("a", "r", .small), ("b", "r", .small), ("c", "r", .small)])
    #expect(Self.admitted(&queue) == ["a", "b"])
    queue.release(remote: "r", size: .small)
    #expect(Self.admitted(&queue) == ["c"])
  }

  @Test("A batch is first in, first out over both classes, within its slots and those there are")
  func batches() throws {
    var queue = AdmissionQueue(concurrency: 3)
    queue.set(slots: 2, ofBatch: "b", on: "r")
    let waiting: [(String, AdmissionQueue.Size)] = [
      ("b1", .small), ("b2", .large), ("b3", .small), ("b4", .small),
    ]
    for (name, size) in waiting {
      queue.enqueue(try Self.id(name), remote: "r", batch: "b", size: size, concurrency: 64)
    }
    for name in ["s1", "s2"] {
      queue.enqueue(try Self.id(name), remote: "r", size: .small, concurrency: 64)
    }
    #expect(Self.admitted(&queue) == ["b1", "s1", "b2"])
    queue.release(remote: "r", batch: "b", size: .small)
    #expect(Self.admitted(&queue) == ["s2"], "they take turns")
    queue.release(remote: "r", size: .small)
    #expect(Self.admitted(&queue) == ["b3"])
    queue.release(remote: "r", size: .small)
    #expect(Self.admitted(&queue).isEmpty, "the batch has its two slots")
    queue.set(slots: 3, ofBatch: "b", on: "r")
    #expect(Self.admitted(&queue) == ["b4"])
  }

  @Test("Remotes take turns")
  func turns() throws {
    var queue = try Self.queue(
      4,
      [("a1", "a", .small), ("a2", "a", .small), ("a3", "a", .small), ("b1", "b", .small)]
    )
    #expect(Self.admitted(&queue) == ["a1", "b1", "a2", "a3"])
  }

  @Test("Large files hold at most half the slots while small ones wait")
  func largeShare() throws {
    var queue = try Self.queue(
      4,
      [
        ("L1", "r", .large), ("L2", "r", .large), ("L3", "r", .large), ("s1", "r", .small),
        ("s2", "r", .small), ("s3", "r", .small),
      ]
    )
    #expect(Set(Self.admitted(&queue)) == ["L1", "L2", "s1", "s2"])
    queue.release(remote: "r", size: .large)
    #expect(Self.admitted(&queue) == ["L3"], "the large share is free again")
    queue.release(remote: "r", size: .small)
    #expect(Self.admitted(&queue) == ["s3"])
  }

  @Test("Large files alone leave one slot to a small one that may come")
  func largeAlone() throws {
    var queue = try Self.queue(3, (1...4).map { ("L\($0)", "r", .large) })
    #expect(Self.admitted(&queue) == ["L1", "L2"])
    queue.enqueue(try Self.id("s1"), remote: "r", size: .small, concurrency: 64)
    #expect(Self.admitted(&queue) == ["s1"])
  }

  @Test("With one slot, small and large files take turns")
  func oneSlot() throws {
    var queue = try Self.queue(1, [("L1", "r", .large), ("s1", "r", .small), ("L2", "r", .large)])
    var order: [String] = []
    for _ in 0..<3 {
      let next = queue.admitNext()
      let id = try #require(next)
      order.append(id.description)
      #expect(queue.admitNext() == nil)
      queue.release(remote: "r", size: id.description.hasPrefix("L") ? .large : .small)
    }
    #expect(Set(order) == ["L1", "s1", "L2"])
  }

  @Test("A remote's own limit holds it back and nobody else")
  func remoteLimit() throws {
    var queue = AdmissionQueue(concurrency: 4)
    for name in ["a1", "a2", "a3"] {
      queue.enqueue(try Self.id(name), remote: "a", size: .small, concurrency: 1)
    }
    queue.enqueue(try Self.id("b1"), remote: "b", size: .small, concurrency: 4)
    #expect(Self.admitted(&queue) == ["a1", "b1"])
  }

  @Test("Streams have slots of their own")
  func hosted() throws {
    var queue = try Self.queue(
      1,
      (0..<AdmissionQueue.hostedSlots + 1).map { ("h\($0)", "r", .hosted) }
        + [("s1", "r", .small)]
    )
    let admitted = Self.admitted(&queue)
    #expect(admitted.count == AdmissionQueue.hostedSlots + 1)
    #expect(admitted.contains("s1"))
  }

  @Test("What was taken out is not admitted, and removing twice is nothing")
  func removal() throws {
    var queue = try Self.queue(1, [("a", "r", .small), ("b", "r", .small)])
    queue.remove(try Self.id("a"), remote: "r", size: .small)
    queue.remove(try Self.id("a"), remote: "r", size: .small)
    #expect(Self.admitted(&queue) == ["b"])
  }

  @Test("A resumed transfer waits at the end of its class")
  func requeued() throws {
    var queue = try Self.queue(1, [("a", "r", .small), ("b", "r", .small)])
    queue.remove(try Self.id("a"), remote: "r", size: .small)
    queue.enqueue(try Self.id("a"), remote: "r", size: .small, concurrency: 64)
    #expect(Self.admitted(&queue) == ["b"])
    queue.release(remote: "r", size: .small)
    #expect(Self.admitted(&queue) == ["a"])
  }

  @Test("More slots act at once")
  func widened() throws {
    var queue = try Self.queue(1, [("a", "r", .small), ("b", "r", .small), ("c", "r", .small)])
    #expect(Self.admitted(&queue) == ["a"])
    queue.concurrency = 3
    #expect(Self.admitted(&queue) == ["b", "c"])
  }

  @Test(
    "The classes by size",
    arguments: [
      (0, false, .small), (1 << 20, false, .small), ((1 << 20) + 1, false, .large),
      (nil, false, .large), (5, true, .hosted),
    ] as [(Int64?, Bool, AdmissionQueue.Size)]
  )
  func sizes(bytes: Int64?, isHosted: Bool, size: AdmissionQueue.Size) {
    #expect(AdmissionQueue.size(ofBytes: bytes, isHosted: isHosted) == size)
  }
}
