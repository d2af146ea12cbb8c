import Backends
import Configuration
import Testing
import TransferModel

@testable import S3Backend

/// What becomes of an upload after a failure or a kill.
extension S3UploadTests {
  @Test("A later process goes on with the parts that server and checkpoint agree on")
  func recovered() throws {
    var talk = try begin()
    for number in 1...3 { try talk.ask(part(number), took(number)) }
    let checkpoint = try #require(talk.backend.checkpoint)
    #expect(String(validating: checkpoint, as: UTF8.self) != nil)
    var later = try upload()
    later.backend.recover(checkpoint)
    #expect(later.backend.cleanUp.map(\.line) == ["DELETE /b/k?uploadId=u%2F1"])
    later.open(size: 20 * Self.mib)
    let first = """
      <ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>1</NextPartNumberMarker>\
      <Part><PartNumber>1</PartNumber><ETag>"p1"</ETag><Size>8388608</Size></Part></ListPartsResult>
      """
    try later.ask("GET /b/k?max-parts=1000&uploadId=u%2F1", answer(200, [:], first))
    let second = """
      <ListPartsResult><Part><PartNumber>2</PartNumber><ETag>"other"</ETag><Size>8388608</Size></Part>\
      <Part><PartNumber>3</PartNumber><ETag>"p3"</ETag><Size>1</Size></Part></ListPartsResult>
      """
    try later.ask(
      "GET /b/k?max-parts=1000&part-number-marker=1&uploadId=u%2F1",
      answer(200, [:], second)
    )
    #expect(later.backend.settled == 8 * Self.mib)
    for number in 2...3 { try later.ask(part(number), took(number)) }
    let complete = try later.ask("POST /b/k?uploadId=u%2F1", completed)
    guard case .bytes(let body)? = complete.body?.first else { return }
    #expect(
      XMLNode.parse(body)?.all("Part").map { $0.text("ChecksumCRC32C") } == [
        "crc1==", "crc2==", "crc3==",
      ]
    )
  }

  @Test(
    "Parts that were not yet written down are taken in from the server",
    arguments: [true, false]
  )
  func unwritten(hasCRC32C: Bool) throws {
    let checksum: (inout S3Settings) -> Void = { $0.checksum = hasCRC32C ? .crc32c : .md5 }
    let talk = try begin(makeRemote(checksum))
    var later = try upload(makeRemote(checksum))
    later.backend.recover(talk.backend.checkpoint)
    later.open(size: 20 * Self.mib)
    func listed(_ number: Int, _ size: Int64, _ crc: String = "") -> String {
      "<Part><PartNumber>\(number)</PartNumber><ETag>&quot;l\(number)&quot;</ETag>\(crc)"
        + "<Size>\(size)</Size></Part>"
    }
    let list =
      listed(1, 8 * Self.mib, "<ChecksumCRC32C>c==</ChecksumCRC32C>") + listed(2, 8 * Self.mib)
      + listed(3, 1)
    try later.ask(
      "GET /b/k?max-parts=1000&uploadId=u%2F1",
      answer(200, [:], "<ListPartsResult>\(list)</ListPartsResult>")
    )
    // Completed with a checksum of each part, or none.
    let again = hasCRC32C ? 2...3 : 3...3
    for number in again { try later.ask(part(number), took(number)) }
    let complete = try later.ask("POST /b/k?uploadId=u%2F1", completed)
    guard case .bytes(let body)? = complete.body?.first else { return }
    let parts = try #require(XMLNode.parse(body)).all("Part")
    #expect(
      parts.map { $0.text("ETag") } == ["\"l1\"", hasCRC32C ? "\"p2\"" : "\"l2\"", "\"p3\""]
    )
    if hasCRC32C { #expect(parts.first?.text("ChecksumCRC32C") == "c==") }
  }

  @Test("What the server took counts although another part failed meanwhile")
  func tookAfterFailure() throws {
    var talk = try begin()
    let exchanges = try (1...3).map { try talk.exchange(part($0)) }
    let refused = fault(403, "AccessDenied")
    talk.backend.receive(.answered(id: exchanges[0].id, refused))
    talk.backend.receive(.answered(id: exchanges[1].id, took(2)))
    talk.backend.receive(.answered(id: exchanges[2].id, answer(200)))
    #expect(try talk.failure().code == .permissionDenied)
    #expect(talk.backend.settled == 8 * Self.mib)
    talk.backend.restart()
    talk.open(size: 20 * Self.mib)
    for number in [1, 3] { try talk.ask(part(number), took(number)) }
    try talk.ask("POST /b/k?uploadId=u%2F1", completed)
  }

  @Test("Who may not list parts relies on the checkpoint")
  func unlistable() throws {
    var talk = try begin()
    try talk.ask(part(1), took(1))
    var later = try upload()
    later.backend.recover(talk.backend.checkpoint)
    later.open(size: 20 * Self.mib)
    try later.ask("GET /b/k?max-parts=1000&uploadId=u%2F1", answer(403))
    _ = try later.exchange(part(2))
  }

  @Test("A list of parts without end ends where S3's numbers do")
  func endlessList() throws {
    let talk = try begin()
    var later = try upload()
    later.backend.recover(talk.backend.checkpoint)
    later.open(size: 20 * Self.mib)
    func list(_ next: Int) -> HTTPResponse {
      let more = "<IsTruncated>true</IsTruncated><NextPartNumberMarker>\(next)"
      return answer(
        200,
        [:],
        "<ListPartsResult>\(more)</NextPartNumberMarker></ListPartsResult>"
      )
    }
    try later.ask("GET /b/k?max-parts=1000&uploadId=u%2F1", list(9999))
    let second = "GET /b/k?max-parts=1000&part-number-marker=9999&uploadId=u%2F1"
    try later.ask(second, list(10_000))
    try later.ask(part(1), took(1))
  }

  /// An upload to a path that nobody else uploads to.
  private func ownUpload() throws -> Conversation {
    let destination = UploadDestination(filePath: "k+ é", contentType: "a/b")
    return Conversation(
      backend: try S3Upload(makeRemote(), destination, token: Self.token)
    )
  }

  private func uploads(_ ids: [String]) -> HTTPResponse {
    let uploads = ids.map { "<Upload><Key>k+ é</Key><UploadId>\($0)</UploadId></Upload>" }
    let others = "<Upload><Key>k+ é/x</Key><UploadId>theirs</UploadId></Upload>"
    let text = others + uploads.joined()
    return answer(200, [:], "<ListMultipartUploadsResult>\(text)</ListMultipartUploadsResult>")
  }

  private static let ownKey = "/b/k%2B%20%C3%A9"
  private static let findStrays = "GET /b?prefix=k%2B%20%C3%A9&uploads="

  @Test(
    "Uploads that were begun and nobody heard of are removed, where the path is its own",
    arguments: ["kill", "repetition", "restart", "interruption"]
  )
  func strays(_ cause: String) throws {
    let create = "POST \(Self.ownKey)?uploads="
    var talk = try ownUpload()
    if cause == "kill" { talk.backend.recover(nil) }
    talk.open(size: 20 * Self.mib)
    var answered = created
    answered.wasRepeated = cause == "repetition"
    if cause == "restart" || cause == "interruption" {
      let exchange = try talk.exchange(create)
      if cause == "restart" {
        talk.backend.restart()
        talk.open(size: 20 * Self.mib)
      } else {
        talk.backend.receive(.interrupted(id: exchange.id))
      }
    }
    try talk.ask(create, answered)
    talk.perform(.remember, .remembered)
    #expect(talk.backend.width == 1)
    // A pause comes between; what may not be removed stops nothing, and what cannot ends it.
    let exchange = try talk.exchange(Self.findStrays)
    talk.backend.receive(.interrupted(id: exchange.id))
    try talk.ask(Self.findStrays, uploads(["u/1", "s/1", "s2", "s3"]))
    try talk.ask("DELETE \(Self.ownKey)?uploadId=s%2F1", fault(403, "AccessDenied"))
    try talk.ask("DELETE \(Self.ownKey)?uploadId=s2", answer(204))
    let removal = try talk.exchange("DELETE \(Self.ownKey)?uploadId=s3")
    talk.backend.receive(.failed(id: removal.id, TransferError(.network, "")))
    let part = try talk.exchange("PUT \(Self.ownKey)?partNumber=1&uploadId=u%2F1")
    #expect(part.phase == .upload)
  }

  @Test("Who may not list uploads, or cannot, goes on; so does what has begun one upload only")
  func noStrays() throws {
    var talk = try ownUpload()
    talk.open(size: 20 * Self.mib)
    try talk.ask("POST \(Self.ownKey)?uploads=", created)
    talk.perform(.remember, .remembered)
    let part = "PUT \(Self.ownKey)?partNumber=1&uploadId=u%2F1"
    let checkpoint = talk.backend.checkpoint
    _ = try talk.exchange(part)
    for answered in [fault(403, "AccessDenied"), answer(200, [:], "?"), uploads(["u/1"]), nil] {
      var later = try ownUpload()
      later.backend.recover(checkpoint)
      later.open(size: 20 * Self.mib)
      try later.ask("GET \(Self.ownKey)?max-parts=1000&uploadId=u%2F1", answer(403))
      let exchange = try later.exchange(Self.findStrays)
      if let answered {
        later.backend.receive(.answered(id: exchange.id, answered))
      } else {
        later.backend.receive(.failed(id: exchange.id, TransferError(.network, "")))
      }
      _ = try later.exchange(part)
    }
    // What others upload to the same path cannot be told from what an earlier process began.
    var shared = try upload()
    shared.backend.recover(nil)
    shared.open(size: 20 * Self.mib)
    try shared.ask("POST /b/k?uploads=", created)
    shared.perform(.remember, .remembered)
    _ = try shared.exchange(self.part(1))
  }

  @Test("Another source is never completed with the parts of the first")
  func otherSource() throws {
    var talk = try begin()
    try talk.ask(part(1), took(1))
    for (size, identity) in [(20 * Self.mib, "other"), (21 * Self.mib, "i")] {
      var later = try upload()
      later.backend.recover(talk.backend.checkpoint)
      later.open(size: size, identity: identity)
      try later.ask("DELETE /b/k?uploadId=u%2F1", fault(404, "NoSuchUpload"))
      try later.ask("POST /b/k?uploads=", created)
      #expect(later.backend.settled == 0)
    }
  }

  @Test("A killed process that had completed the upload is believed by the token")
  func recoveredAfterCompletion() throws {
    var talk = try begin()
    for number in 1...3 { try talk.ask(part(number), took(number)) }
    var later = try upload()
    later.backend.recover(talk.backend.checkpoint)
    later.open(size: 20 * Self.mib)
    try later.ask("GET /b/k?max-parts=1000&uploadId=u%2F1", fault(404, "NoSuchUpload"))
    try later.ask("HEAD /b/k", ours(size: 20 * Self.mib))
    _ = try later.result()
  }

  @Test("After a failure the same process keeps the parts it had")
  func restarted() throws {
    var talk = try begin()
    try talk.ask(part(1), took(1))
    _ = try talk.exchange(part(2))
    talk.backend.restart()
    talk.open(size: 20 * Self.mib)
    #expect(talk.backend.settled == 8 * Self.mib)
    for number in 2...3 { try talk.ask(part(number), took(number)) }
    try talk.ask("POST /b/k?uploadId=u%2F1", completed)
  }

  @Test(
    "What is no checkpoint is none",
    arguments: ["", "{", "[]", "{\"token\":1}", "{\"upload\":\"u\"}"]
  )
  func badCheckpoint(_ text: String) throws {
    #expect(UploadCheckpoint(Array(text.utf8)) == nil)
    var talk = try upload()
    talk.backend.recover(Array(text.utf8))
    talk.open(size: 1)
    try talk.ask("PUT /b/k", answer(200))
  }

  @Test("A checkpoint that lies about its sizes is none")
  func lyingCheckpoint() {
    for (size, part) in [(0, 1), (1, 0), (1 << 40, 1), (-1, 5)] {
      let text =
        "{\"token\":\"t\",\"upload\":\"u\",\"size\":\(size),\"part\":\(part),\"identity\":\"i\",\"parts\":[]}"
      #expect(UploadCheckpoint(Array(text.utf8)) == nil)
    }
  }
}
