import Backends
import Configuration
import JSON
import Testing
import TransferModel

@testable import S3Backend

@Suite("Uploads")
struct S3UploadTests {
  static let mib: Int64 = 1 << 20
  static let token = "0123456789abcdefghjkmnpq"

  func upload(
    _ remote: S3Remote = makeRemote(),
    path: String = "k",
    condition: WriteCondition = WriteCondition(),
    custom: [ExactString: String] = [:]
  ) throws -> Conversation {
    let put = PutObject(
      reference: ObjectReference(path: path),
      settable: SettableMetadata(contentType: "a/b", custom: custom),
      condition: condition,
      source: .path("/s")
    )
    return Conversation(
      backend: try S3Upload(remote, UploadDestination(put), token: Self.token)
    )
  }

  let created = answer(
    200,
    [:],
    "<InitiateMultipartUploadResult><UploadId>u/1</UploadId></InitiateMultipartUploadResult>"
  )
  let completed = answer(
    200,
    [:],
    "<CompleteMultipartUploadResult><ETag>\"m-3\"</ETag></CompleteMultipartUploadResult>"
  )

  func ours(size: Int64, _ more: [String: String] = [:]) -> HTTPResponse {
    let mark = ["x-amz-meta-ferry-token": Self.token].merging(more) { $1 }
    return answer(200, objectHeaders(size: Int(size), "\"final\"", mark))
  }

  private func objectHeaders(
    size: Int,
    _ etag: String,
    _ more: [String: String]
  ) -> [String: String] { S3BackendTests.objectHeaders(size: size, etag: etag, more) }

  // MARK: One PUT

  @Test("Small content is one PUT, with its metadata, token, digest and checksum")
  func onePut() throws {
    var talk = try upload(custom: ["k": "v"])
    talk.open(size: 5, sha256: "5a")
    let put = try talk.ask(
      "PUT /b/k",
      answer(
        200,
        [
          "ETag": "\"5d41402abc4b2a76b9719d911017c592\"", "Date": "Sun, 30 Aug 2015 12:36:00 GMT",
        ]
      )
    )
    #expect(put.body == [.source(0..<5)])
    #expect(put.checksum == .crc32c(header: "x-amz-checksum-crc32c"))
    #expect(put.lane == .bulk)
    #expect(put.isRepeatable)
    #expect(put.header("content-type") == "a/b")
    #expect(put.header("x-amz-meta-k") == "v")
    #expect(put.header("x-amz-meta-ferry-token") == Self.token)
    #expect(put.header("x-amz-meta-ferry-sha256") == "5a")
    talk.perform(.verifySource, .sourceVerified)
    guard case .stored(let stored) = try talk.result() else { return }
    #expect(stored.metadata.etag == "5d41402abc4b2a76b9719d911017c592")
    #expect(stored.metadata.md5 == "5d41402abc4b2a76b9719d911017c592")
    #expect(stored.metadata.sha256 == "5a")
    #expect(stored.metadata.size == 5)
    #expect(stored.metadata.updatedMs == now)
    #expect(stored.metadata.settable.custom == ["k": "v"])
    #expect(stored.url == nil)
    #expect(talk.backend.settled == 5)
    #expect(talk.backend.checkpoint == nil)
    #expect(talk.backend.cleanUp.isEmpty)
  }

  @Test("Nothing at all has a body of no bytes")
  func empty() throws {
    var talk = try upload()
    talk.open(size: 0)
    #expect(try talk.ask("PUT /b/k", answer(200, ["ETag": "\"e\""])).body == [])
    talk.perform(.verifySource, .sourceVerified)
    _ = try talk.result()
  }

  @Test(
    "The checksum is the one that the server checks, or that was asked for",
    arguments: [
      (.minio, .auto, .crc32c(header: "x-amz-checksum-crc32c")),
      (.seaweedfs, .auto, .crc32c(header: "x-amz-checksum-crc32c")),
      (.rclone, .auto, .contentMD5), (.ceph, .auto, .contentMD5), (.auto, .auto, .contentMD5),
      (.minio, .md5, .contentMD5), (.rclone, .crc32c, .crc32c(header: "x-amz-checksum-crc32c")),
      (.minio, .none, nil),
    ] as [(S3Settings.Provider, S3Settings.Checksum, HTTPBodyChecksum?)]
  )
  func checksum(
    _ provider: S3Settings.Provider,
    _ wanted: S3Settings.Checksum,
    _ checksum: HTTPBodyChecksum?
  ) throws {
    var talk = try upload(
      makeRemote {
        $0.provider = provider
        $0.checksum = wanted
      }
    )
    talk.open(size: 1)
    #expect(try talk.ask("PUT /b/k", answer(200)).checksum == checksum)
  }

  @Test("A refusal is a failure with the server's words")
  func refused() throws {
    var talk = try upload()
    talk.open(size: 1)
    try talk.ask("PUT /b/k", fault(403, "AccessDenied"))
    let error = try talk.failure()
    #expect(error.code == .permissionDenied)
    #expect(error.phase == .upload)
    talk.backend.restart()
    talk.open(size: 1)
    try talk.ask("PUT /b/k", answer(200))
    talk.perform(.verifySource, .sourceVerified)
    _ = try talk.result()
  }

  @Test("What S3 cannot keep is refused before anything is asked")
  func impossible() throws {
    #expect(throws: TransferError.self) {
      try upload(custom: ["k": String(repeating: "x", count: 2048)])
    }
    #expect(throws: TransferError.self) { try upload(path: String(repeating: "x", count: 1025)) }
    #expect(throws: TransferError.self) { try upload(condition: .init(ifNoneMatch: "etag")) }
    #expect(throws: TransferError.self) { try upload(condition: .init(ifMatch: "*")) }
    for etag in ["", "a b", "a\r\nHost: x", "\u{7}", "é"] {
      let error = #expect(throws: TransferError.self) {
        try upload(condition: .init(ifMatch: etag))
      }
      #expect(error?.field == "/ifMatch")
    }
  }

  @Test("What was put of a source that changed meanwhile is not this upload's, nor a success")
  func changedSource() throws {
    // Stopped, it is made sure before it is put again.
    var talk = try upload()
    talk.open(size: 5, sha256: "5a")
    talk.backend.receive(.interrupted(id: try talk.exchange("PUT /b/k").id))
    talk.perform(.verifySource, .sourceVerified)
    try talk.ask("PUT /b/k", answer(200))
    #expect(talk.backend.next() == .content(.verifySource))
    // Where it has changed the run ends here, and the next begins with what is there now.
    talk.backend.restart()
    talk.open(size: 5, sha256: "6b")
    let put = try talk.ask("PUT /b/k", answer(200))
    #expect(put.header("x-amz-meta-ferry-token") != Self.token)
    #expect(put.header("x-amz-meta-ferry-sha256") == "6b")
    talk.perform(.verifySource, .sourceVerified)
    _ = try talk.result()
  }

  @Test("What an earlier process put of another source is no success", arguments: ["5a", "6b"])
  func changedBetween(_ sha256: String) throws {
    let was = String(repeating: "5a", count: 32)
    var talk = try upload(condition: .init(ifNoneMatch: "*"))
    talk.open(size: 5, sha256: String(repeating: sha256, count: 32))
    talk.perform(.remember, .remembered)
    try talk.ask("PUT /b/k", fault(412, "PreconditionFailed"))
    try talk.ask("HEAD /b/k", ours(size: 5, ["x-amz-meta-ferry-sha256": was]))
    if sha256 == "5a" {
      _ = try talk.result()
    } else {
      #expect(try talk.failure().code == .fileChanged)
    }
  }

  // MARK: Conditions

  @Test("A condition travels, and its checkpoint is kept before the first byte")
  func condition() throws {
    var talk = try upload(condition: .init(ifMatch: "abc"))
    talk.open(size: 1)
    let checkpoint = try #require(talk.backend.checkpoint)
    talk.perform(.remember, .remembered)
    let put = try talk.ask("PUT /b/k", fault(412, "PreconditionFailed"))
    #expect(put.header("if-match") == "\"abc\"")
    // Not ours: somebody else was first.
    try talk.ask("HEAD /b/k", answer(200, objectHeaders(size: 1, "\"x\"", [:])))
    #expect(try talk.failure().code == .preconditionFailed)
    // After a kill the same token settles what became of the PUT.
    var later = try upload(condition: .init(ifMatch: "abc"))
    later.backend.recover(checkpoint)
    later.open(size: 1)
    later.perform(.remember, .remembered)
    try later.ask("PUT /b/k", fault(412, "PreconditionFailed"))
    try later.ask("HEAD /b/k", ours(size: 1))
    _ = try later.result()
  }

  @Test("A lost answer to a conditional PUT is settled by the token", arguments: [true, false])
  func lostPut(isOurs: Bool) throws {
    var talk = try upload(condition: .init(ifNoneMatch: "*"))
    talk.open(size: 7)
    talk.perform(.remember, .remembered)
    let put = try talk.ask("PUT /b/k", fault(412, "PreconditionFailed"))
    #expect(put.header("if-none-match") == "*")
    let other = answer(200, objectHeaders(size: 7, "\"x\"", ["x-amz-meta-ferry-token": "other"]))
    try talk.ask("HEAD /b/k", isOurs ? ours(size: 7) : other)
    if isOurs {
      _ = try talk.result()
    } else {
      #expect(try talk.failure().code == .preconditionFailed)
    }
  }

  @Test(
    "Where conditions would be ignored they are refused, which a server tells first if need be",
    arguments: [("rclone/v1", false), ("SeaweedFS 4", true), ("nginx", false), ("MinIO", true)]
  )
  func ignored(_ server: String, _ obeys: Bool) throws {
    var talk = try upload(
      makeRemote { $0.provider = .auto },
      condition: .init(ifNoneMatch: "*")
    )
    talk.open(size: 1)
    try talk.ask("HEAD /b", answer(403, ["Server": server]))
    if obeys {
      talk.perform(.remember, .remembered)
      try talk.ask("PUT /b/k", answer(200))
      talk.perform(.verifySource, .sourceVerified)
      _ = try talk.result()
    } else {
      #expect(try talk.failure().code == .unsupported)
    }
  }

  @Test("Where only a PUT obeys conditions, large content is one PUT")
  func largeConditional() throws {
    var talk = try upload(makeRemote { $0.provider = .r2 }, condition: .init(ifNoneMatch: "*"))
    talk.open(size: 100 * Self.mib)
    talk.perform(.remember, .remembered)
    try talk.ask("PUT /b/k", answer(200, ["ETag": "e"]))
    talk.perform(.verifySource, .sourceVerified)
    _ = try talk.result()
    var larger = try upload(makeRemote { $0.provider = .r2 }, condition: .init(ifNoneMatch: "*"))
    larger.open(size: (5 << 30) + 1)
    #expect(try larger.failure().code == .unsupported)
  }

  // MARK: Parts

  /// Begins an upload of 20 MiB in three parts.
  func begin(_ remote: S3Remote = makeRemote()) throws -> Conversation {
    var talk = try upload(remote)
    talk.open(size: 20 * Self.mib)
    let create = try talk.ask("POST /b/k?uploads=", created)
    #expect(create.header("x-amz-meta-ferry-token") == Self.token)
    #expect(create.body == [])
    #expect(create.isRepeatable)
    talk.perform(.remember, .remembered)
    return talk
  }

  func part(_ number: Int) -> String { "PUT /b/k?partNumber=\(number)&uploadId=u%2F1" }

  func took(_ number: Int) -> HTTPResponse {
    answer(200, ["ETag": "\"p\(number)\"", "x-amz-checksum-crc32c": "crc\(number)=="])
  }

  @Test("Large content goes in equal parts side by side, and is looked at once it is completed")
  func parts() throws {
    var talk = try begin()
    #expect(talk.backend.width == 4)
    let exchanges = try (1...3).map { try talk.exchange(part($0)) }
    #expect(talk.backend.next() == .idle)
    #expect(
      exchanges.map(\.request.body) == [
        [.source(0..<8 * Self.mib)], [.source(8 * Self.mib..<16 * Self.mib)],
        [.source(16 * Self.mib..<20 * Self.mib)],
      ]
    )
    #expect(exchanges.allSatisfy { $0.phase == .upload && $0.request.lane == .bulk })
    #expect(exchanges[0].request.checksum == .crc32c(header: "x-amz-checksum-crc32c"))
    for index in [2, 0, 1] {
      #expect(talk.backend.next() == .idle)
      talk.backend.receive(.answered(id: exchanges[index].id, took(index + 1)))
    }
    #expect(talk.backend.settled == 20 * Self.mib)
    let complete = try talk.ask("POST /b/k?uploadId=u%2F1", completed)
    #expect(complete.answerTimeout == .seconds(600))
    guard case .bytes(let body)? = complete.body?.first else { return }
    let parts = try #require(XMLNode.parse(body)).all("Part")
    #expect(parts.map { $0.text("PartNumber") } == ["1", "2", "3"])
    #expect(parts.map { $0.text("ETag") } == ["\"p1\"", "\"p2\"", "\"p3\""])
    #expect(parts.map { $0.text("ChecksumCRC32C") } == ["crc1==", "crc2==", "crc3=="])
    try talk.ask("HEAD /b/k", ours(size: 20 * Self.mib))
    guard case .stored(let stored) = try talk.result() else { return }
    #expect(stored.metadata.etag == "final")
    #expect(stored.metadata.size == 20 * Self.mib)
    #expect(talk.backend.cleanUp.isEmpty)
  }

  @Test("Who may write and not read has what the completion said")
  func writeOnly() throws {
    var talk = try begin()
    for number in 1...3 { try talk.ask(part(number), took(number)) }
    try talk.ask("POST /b/k?uploadId=u%2F1", completed)
    try talk.ask("HEAD /b/k", answer(403))
    guard case .stored(let stored) = try talk.result() else { return }
    #expect(stored.metadata.etag == "m-3")
  }

  @Test("An object of ours with another size is no success")
  func wrongSize() throws {
    var talk = try begin()
    for number in 1...3 { try talk.ask(part(number), took(number)) }
    try talk.ask("POST /b/k?uploadId=u%2F1", completed)
    try talk.ask("HEAD /b/k", ours(size: 16 * Self.mib))
    #expect(try talk.failure().code == .checksumMismatch)
  }

  @Test("A server is asked what it is before parts are cut for it")
  func identified() throws {
    let remote = makeRemote { $0.provider = .auto }
    var talk = try upload(remote)
    talk.open(size: 20 * Self.mib)
    try talk.ask("HEAD /b", answer(200, ["Server": "rclone/1"]))
    let create = try talk.ask("POST /b/k?uploads=", created)
    #expect(create.header("x-amz-checksum-algorithm") == nil)
    talk.perform(.remember, .remembered)
    #expect(talk.backend.width == 1)
    #expect(try talk.exchange(part(1)).request.checksum == .contentMD5)
  }

  @Test("A stopped part is sent again, in its place")
  func interrupted() throws {
    var talk = try begin()
    let exchanges = try (1...3).map { try talk.exchange(part($0)) }
    talk.backend.receive(.answered(id: exchanges[2].id, took(3)))
    talk.backend.receive(.interrupted(id: exchanges[0].id))
    let again = try talk.exchange(part(1))
    #expect(again.id != exchanges[0].id)
    talk.backend.receive(.answered(id: again.id, took(1)))
    talk.backend.receive(.answered(id: exchanges[1].id, took(2)))
    try talk.ask("POST /b/k?uploadId=u%2F1", completed)
  }

  @Test("A lost answer to the completion is settled by the token", arguments: [true, false])
  func lostCompletion(isThere: Bool) throws {
    var talk = try begin()
    for number in 1...3 { try talk.ask(part(number), took(number)) }
    try talk.ask("POST /b/k?uploadId=u%2F1", fault(404, "NoSuchUpload"))
    if isThere {
      try talk.ask("HEAD /b/k", ours(size: 20 * Self.mib))
      _ = try talk.result()
      return
    }
    // Lost for good: all over again, but not for ever.
    for loss in 1...3 {
      try talk.ask("HEAD /b/k", answer(404))
      guard loss < 3 else { break }
      try talk.ask("POST /b/k?uploads=", created)
      talk.perform(.remember, .remembered)
      try talk.ask(part(1), fault(404, "NoSuchUpload"))
    }
    let error = try talk.failure()
    #expect(error.code == .server)
    #expect(error.isRetryable)
  }

  @Test("Parts that were under way when an upload was lost are waited for and forgotten")
  func lostWhileSending() throws {
    var talk = try begin()
    let exchanges = try (1...3).map { try talk.exchange(part($0)) }
    talk.backend.receive(.answered(id: exchanges[0].id, fault(404, "NoSuchUpload")))
    #expect(talk.backend.next() == .idle)
    talk.backend.receive(.answered(id: exchanges[1].id, took(2)))
    talk.backend.receive(.interrupted(id: exchanges[2].id))
    try talk.ask("HEAD /b/k", answer(404))
    try talk.ask("POST /b/k?uploads=", created)
    talk.perform(.remember, .remembered)
    #expect(talk.backend.settled == 0)
    for number in 1...3 { try talk.ask(part(number), took(number)) }
    try talk.ask("POST /b/k?uploadId=u%2F1", completed)
  }

  @Test("Parts that the server no longer takes are removed, and sent anew")
  func invalidParts() throws {
    var talk = try begin()
    for number in 1...3 { try talk.ask(part(number), took(number)) }
    try talk.ask("POST /b/k?uploadId=u%2F1", fault(400, "InvalidPart"))
    try talk.ask("DELETE /b/k?uploadId=u%2F1", answer(204))
    try talk.ask("POST /b/k?uploads=", created)
  }

  @Test("A refused part fails the upload, and what was sent can be removed")
  func refusedPart() throws {
    var talk = try begin()
    try talk.ask(part(1), fault(403, "AccessDenied"))
    #expect(try talk.failure().code == .permissionDenied)
    #expect(talk.backend.cleanUp.map(\.line) == ["DELETE /b/k?uploadId=u%2F1"])
  }

  @Test("A part without an ETag, and an upload without a name, are no success")
  func unclear() throws {
    var talk = try begin()
    try talk.ask(part(1), answer(200))
    #expect(try talk.failure().code == .server)
    for etag in ["\"a b\"", "\"\u{7}\"", "\"é\""] {
      var unusable = try begin()
      try unusable.ask(part(1), answer(200, ["ETag": etag]))
      #expect(try unusable.failure().code == .server)
    }
    var nameless = try upload()
    nameless.open(size: 20 * Self.mib)
    try nameless.ask("POST /b/k?uploads=", answer(200, [:], "<html/>"))
    #expect(try nameless.failure().code == .server)
  }

  @Test("The largest size there can be is refused")
  func absurd() throws {
    var talk = try upload()
    talk.open(size: .max)
    #expect(try talk.failure().code == .fileSizeExceeded)
  }

  @Test(
    "Parts are as large as asked for, larger where there would be too many, and never unequal",
    arguments: [
      (17 << 20, nil, 8 << 20), (17 << 20, 5 << 20, 5 << 20), (100 << 30, nil, 11 << 20),
      (1 << 40, nil, 111 << 20), (5 << 40, nil, 552 << 20),
    ] as [(Int64, Int64?, Int64)]
  )
  func geometry(_ size: Int64, _ wanted: Int64?, _ partSize: Int64) {
    #expect(MultipartUpload.partSize(for: size, wanted: wanted) == partSize)
    let upload = MultipartUpload(
      uploadID: "u",
      size: size,
      partSize: partSize,
      identity: "i",
      hasCRC32C: false
    )
    #expect(upload.parts.count <= 10_000)
    #expect(upload.range(of: upload.parts.count - 1).upperBound == size)
    #expect(upload.range(of: 1).lowerBound == partSize)
  }

  @Test("Files of channels are stored by their layout")
  func channelFile() throws {
    let remote = makeRemote()
    let path = try remote.filePath(channel: "c/d", id: "1", name: "a b")
    let destination = UploadDestination(filePath: path, contentType: "a/b")
    var talk = Conversation(backend: try S3Upload(remote, destination))
    talk.open(size: 1)
    try talk.ask("PUT /b/channels/c~2Fd/files/1/a%20b", answer(200))
    talk.perform(.verifySource, .sourceVerified)
    _ = try talk.result()
  }
}
