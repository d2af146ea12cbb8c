import Backends
import Testing
import TransferModel

@Suite("A local transfer's conversation")
struct LocalBackendTests {
  static let metadata = ObjectMetadata(
    fullPath: "a/b",
    size: 3,
    settable: SettableMetadata(contentType: "text/plain"),
    createdMs: 1,
    updatedMs: 1,
    etag: "e"
  )
  static let file = SharedFile(id: "f1", name: "x.txt", size: 3)
  static let put = PutObject(
    reference: ObjectReference(path: "a/b"),
    settable: SettableMetadata(contentType: "text/plain"),
    condition: WriteCondition(ifNoneMatch: "*"),
    source: .bytes([1, 2, 3])
  )
  static let send = SendFile(
    channel: "c",
    name: "x.txt",
    contentType: "text/plain",
    announcement: Announcement(channel: "c", fileID: "", fileName: "x.txt", ttlHours: 5),
    source: .bytes([1, 2, 3])
  )

  /// Plays outcomes one after the other and returns the steps between them.
  static func steps<B: Backend>(_ backend: inout B, _ outcomes: [StepOutcome]) -> [BackendStep] {
    var steps = [backend.next()]
    for outcome in outcomes {
      backend.receive(outcome)
      steps.append(backend.next())
    }
    return steps
  }

  @Test("Putting an object stages, fills and publishes")
  func putting() {
    var backend = LocalUpload(Self.put)
    let steps = Self.steps(
      &backend,
      [.staged, .filled, .objectPublished(Self.metadata, url: "file:///x")]
    )
    #expect(
      steps == [
        .local(.stage), .local(.fill),
        .local(.publishObject(Self.put.reference, Self.put.settable, Self.put.condition)),
        .done(.stored(.init(metadata: Self.metadata, url: "file:///x"))),
      ]
    )
  }

  @Test("Sending a file announces it under the id that the remote gave")
  func sending() {
    var backend = LocalUpload(Self.send)
    let steps = Self.steps(
      &backend,
      [.staged, .filled, .filePublished(Self.file, url: "u"), .announced(Timetoken(7))]
    )
    var announcement = Self.send.announcement
    announcement.fileID = "f1"
    #expect(
      steps[2] == .local(.publishFile(channel: "c", name: "x.txt", contentType: "text/plain"))
    )
    #expect(steps[3] == .local(.announce(announcement)))
    #expect(
      steps[4]
        == .done(
          .shared(.init(channel: "c", file: Self.file, timetoken: Timetoken(7), url: "u"))
        )
    )
  }

  @Test("A retry begins anew, but never stores twice what the remote has")
  func restarting() {
    var early = LocalUpload(Self.send)
    _ = Self.steps(&early, [.staged])
    early.restart()
    #expect(early.next() == .local(.stage))
    #expect(early.unannounced == nil)

    var late = LocalUpload(Self.send)
    _ = Self.steps(&late, [.staged, .filled, .filePublished(Self.file, url: "u")])
    #expect(late.unannounced == Self.file)
    late.restart()
    guard case .local(.announce) = late.next() else {
      Issue.record("stored again: \(late.next())")
      return
    }
  }

  @Test(
    "After a restart an upload goes on where the remote says it stands",
    arguments: [
      (.nothing, .local(.stage)), (.staged, .local(.fill)),
      (
        .filePublished(file, url: "u", announced: Timetoken(9)),
        .done(.shared(.init(channel: "c", file: file, timetoken: Timetoken(9), url: "u")))
      ),
    ] as [(Recovered, BackendStep)]
  )
  func recovering(recovered: Recovered, next: BackendStep) {
    var backend = LocalUpload(Self.send)
    backend.recover(nil)
    #expect(Self.steps(&backend, [.recovered(recovered)]) == [.local(.recover), next])
  }

  @Test("A file that is stored and not announced is announced, not stored again")
  func recoveringUnannounced() {
    var backend = LocalUpload(Self.send)
    backend.recover(nil)
    let steps = Self.steps(
      &backend,
      [.recovered(.filePublished(Self.file, url: "u", announced: nil))]
    )
    var announcement = Self.send.announcement
    announcement.fileID = "f1"
    #expect(steps.last == .local(.announce(announcement)))
    #expect(backend.unannounced == Self.file)
  }

  @Test("A download opens, delivers, and reports the object's metadata")
  func downloading() {
    let get = GetObject(
      reference: ObjectReference(path: "a/b"),
      range: ByteRange(offset: 1, length: 2),
      target: .temporary
    )
    var backend = LocalDownload(get)
    let download = TransferResult.Download(
      path: "/t",
      isTemporary: true,
      size: 2,
      sha256: nil,
      metadata: nil,
      data: nil
    )
    let steps = Self.steps(&backend, [.opened(Self.metadata), .delivered(download)])
    var expected = download
    expected.metadata = Self.metadata
    #expect(
      steps == [
        .local(.openObject(get.reference, get.range)), .local(.deliver),
        .done(.downloaded(expected)),
      ]
    )
  }
}
