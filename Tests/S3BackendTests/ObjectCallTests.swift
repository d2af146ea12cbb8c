import Backends
import Configuration
import JSON
import Testing
import TransferModel

@testable import S3Backend

@Suite("Questions about objects and files")
struct ObjectCallTests {
  private let remote = makeRemote { $0.prefix = ObjectReference(path: "p") }
  private let reference = ObjectReference(path: "a b")

  @Test("Metadata is a HEAD")
  func metadata() throws {
    let headers = objectHeaders(
      size: 5,
      etag: "\"5d41402abc4b2a76b9719d911017c592\"",
      ["x-amz-meta-k": "v", "x-amz-meta-ferry-sha256": String(repeating: "a", count: 64)]
    )
    let (metadata, requests) = try run(remote.metadata(reference), [answer(200, headers)])
    #expect(requests.map(\.line) == ["HEAD /b/p/a%20b"])
    #expect(metadata.fullPath == "a b")
    #expect(metadata.size == 5)
    #expect(metadata.etag == "5d41402abc4b2a76b9719d911017c592")
    #expect(metadata.md5 == "5d41402abc4b2a76b9719d911017c592")
    #expect(metadata.sha256 == String(repeating: "a", count: 64))
    #expect(metadata.updatedMs == now)
    #expect(metadata.settable.custom == ["k": "v"])
    let error = try #require(throws: TransferError.self) {
      try run(remote.metadata(reference), [answer(404)])
    }
    #expect(error.code == .notFound)
  }

  @Test(
    "An ETag is an MD5 only where it is one",
    arguments: [
      (Provider.aws, "\"5d41402abc4b2a76b9719d911017c592\"", [:], true),
      (.other, "\"5d41402abc4b2a76b9719d911017c592\"", [:], false),
      (.aws, "\"5d41402abc4b2a76b9719d911017c592-2\"", [:], false),
      (
        .aws, "\"5d41402abc4b2a76b9719d911017c592\"", ["x-amz-server-side-encryption": "AES256"],
        true
      ),
      (
        .aws, "\"5d41402abc4b2a76b9719d911017c592\"", ["x-amz-server-side-encryption": "aws:kms"],
        false
      ),
      (
        .aws, "\"5d41402abc4b2a76b9719d911017c592\"",
        ["x-amz-server-side-encryption-customer-algorithm": "AES256"], false
      ), (.aws, "W/\"5d41402abc4b2a76b9719d911017c592\"", [:], false),
    ] as [(Provider, String, [String: String], Bool)]
  )
  func md5(_ provider: Provider, _ etag: String, _ headers: [String: String], _ isMD5: Bool) {
    let remote = makeRemote { $0.provider = provider == .aws ? .aws : .auto }
    if provider == .other { remote.learnProvider(from: answer(200)) }
    #expect((remote.md5(of: etag.unquoted, answer(200, headers)) != nil) == isMD5)
  }

  @Test("An update is a copy onto itself that keeps what the patch leaves")
  func update() throws {
    let headers = objectHeaders(
      size: 5,
      [
        "x-amz-meta-k": "v", "x-amz-meta-gone": "x", "x-amz-meta-ferry-token": "t",
        "Cache-Control": "no-cache", "x-amz-storage-class": "STANDARD_IA",
        "x-amz-server-side-encryption": "aws:kms",
      ]
    )
    var patch = MetadataPatch()
    patch.custom = ["gone": nil, "new": "1"]
    patch.contentLanguage = "de"
    let (metadata, requests) = try run(
      remote.update(reference, patch),
      [
        answer(200, headers), answer(200, [:], "<CopyObjectResult/>"),
        answer(200, objectHeaders(size: 5, ["x-amz-meta-new": "1"])),
      ]
    )
    #expect(requests.map(\.line) == ["HEAD /b/p/a%20b", "PUT /b/p/a%20b", "HEAD /b/p/a%20b"])
    let copy = requests[1]
    #expect(copy.body == [])
    let sent = Dictionary(
      uniqueKeysWithValues: copy.headers.map { ($0.name.lowercased(), $0.value) }
    )
    #expect(
      sent == [
        "content-type": "text/plain", "cache-control": "no-cache", "content-language": "de",
        "x-amz-meta-k": "v", "x-amz-meta-new": "1", "x-amz-meta-ferry-token": "t",
        "x-amz-copy-source": "/b/p/a%20b", "x-amz-metadata-directive": "REPLACE",
        "x-amz-copy-source-if-match": "\"e\"", "x-amz-storage-class": "STANDARD_IA",
        "x-amz-server-side-encryption": "aws:kms",
      ]
    )
    #expect(metadata.settable.custom == ["new": "1"])
  }

  @Test("An update of what changed meanwhile, is not there or is too large fails")
  func badUpdate() throws {
    let patch = MetadataPatch()
    func code(_ answers: [HTTPResponse]) -> ErrorCode? {
      do throws(TransferError) {
        _ = try run(remote.update(reference, patch), answers)
        return nil
      } catch {
        return error.code
      }
    }
    let there = answer(200, objectHeaders(size: 5))
    #expect(code([answer(404)]) == .notFound)
    #expect(code([there, fault(412, "PreconditionFailed")]) == .preconditionFailed)
    #expect(code([answer(200, objectHeaders(size: 5 << 30 + 1))]) == .unsupported)
  }

  @Test(
    "An ETag that cannot be said again is not said again",
    arguments: ["\"\u{7}\"", "*", "W/\"e\""]
  )
  func unusableETag(_ etag: String) throws {
    let there = answer(200, objectHeaders(size: 5, etag: etag))
    let copied = answer(200, [:], "<CopyObjectResult/>")
    let (_, requests) = try run(remote.update(reference, MetadataPatch()), [there, copied, there])
    #expect(requests[1].header("x-amz-copy-source") != nil)
    #expect(requests[1].header("x-amz-copy-source-if-match") == nil)
  }

  @Test("Removing looks first, so that one that is not there is told")
  func delete() throws {
    let there = answer(200, objectHeaders(size: 1))
    let (_, requests) = try run(remote.delete(reference), [there, answer(204)])
    #expect(requests.map(\.line) == ["HEAD /b/p/a%20b", "DELETE /b/p/a%20b"])
    let missing = try #require(throws: TransferError.self) {
      try run(remote.delete(reference), [answer(404)])
    }
    #expect(missing.code == .notFound)
    // Who may remove need not be allowed to look.
    _ = try run(remote.delete(reference), [answer(403), answer(204)])
  }

  @Test("A URL is signed here, for as long as is asked")
  func url() throws {
    let (url, requests) = try run(remote.url(of: reference, expiresIn: nil, nowMs: now), [])
    #expect(requests.isEmpty)
    #expect(url.url.hasPrefix("http://127.0.0.1:9000/b/p/a%20b?X-Amz-Algorithm=AWS4-HMAC-SHA256&"))
    #expect(url.url.contains("&X-Amz-Expires=3600&"))
    #expect(url.expiresMs == now + 3_600_000)
    for seconds in [0, -1, 604_801] as [Int64] {
      let error = try #require(throws: TransferError.self) {
        try remote.url(of: reference, expiresIn: seconds, nowMs: now)
      }
      #expect(error.field == "/expiresIn")
    }
    let longest = try run(remote.url(of: reference, expiresIn: 604_800, nowMs: now), [])
    #expect(longest.value.url.contains("X-Amz-Expires=604800&"))
  }

  @Test("A list is decoded, and what no reference can name is left out")
  func list() throws {
    let body = """
      <ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>\
      <NextContinuationToken>a/b+c=</NextContinuationToken>\
      <Contents><Key>p/f/</Key><Size>0</Size></Contents>\
      <Contents><Key>p/f/%CC%81a+b%2B</Key><Size>3</Size></Contents>\
      <Contents><Key>p/f//x</Key><Size>1</Size></Contents>\
      <CommonPrefixes><Prefix>p/f/%CC%81g/</Prefix></CommonPrefixes>\
      <CommonPrefixes><Prefix>p/f//</Prefix></CommonPrefixes></ListBucketResult>
      """
    let call = try remote.listObjects(
      below: ObjectReference(path: "f"),
      recursive: false,
      limit: 5000,
      next: nil
    )
    let (page, requests) = try run(call, [answer(200, [:], body)])
    #expect(
      requests.map(\.line) == [
        "GET /b?delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=p%2Ff%2F"
      ]
    )
    #expect(page.items == [ObjectEntry(fullPath: "f/\u{301}a b+", size: 3)])
    #expect(page.prefixes == ["f/\u{301}g"])
    let next = try #require(page.next)
    let second = try remote.listObjects(
      below: ObjectReference(path: ""),
      recursive: true,
      limit: 2,
      next: next
    )
    let end = answer(200, [:], "<ListBucketResult/>")
    let (last, asked) = try run(second, [end])
    #expect(
      asked.map(\.line) == [
        "GET /b?continuation-token=a%2Fb%2Bc%3D&encoding-type=url&list-type=2&max-keys=2&prefix=p%2F"
      ]
    )
    #expect(last == ObjectPage(items: [], prefixes: [], next: nil))
  }

  @Test(
    "A place in a list that nobody gave is refused",
    arguments: ["", "x", "s3.", "s3.%", "s4.a"]
  )
  func badNext(_ next: String) throws {
    let error = try #require(throws: TransferError.self) {
      try remote.listObjects(below: reference, recursive: true, limit: 1, next: next)
    }
    #expect(error.field == "/next")
  }

  @Test("An answer that is no list is a failure of the server")
  func noList() throws {
    let call = try remote.listObjects(below: reference, recursive: true, limit: 1, next: nil)
    let error = try #require(throws: TransferError.self) {
      try run(call, [answer(200, [:], "<html/>")])
    }
    #expect(error.code == .server)
  }

  @Test("A name that some servers alias is used only once the server is known to keep it")
  func delicate() throws {
    let name = ObjectReference(path: "a\\b")
    let unknown = makeRemote { $0.provider = .auto }
    let error = try #require(throws: TransferError.self) {
      try run(unknown.delete(name), [answer(403, ["Server": "SeaweedFS 4"])])
    }
    #expect(error.code == .invalidReference)
    let ceph = makeRemote { $0.provider = .auto }
    let (_, requests) = try run(
      ceph.metadata(name),
      [answer(404, ["Server": "Ceph Object Gateway"]), answer(200, objectHeaders(size: 1))]
    )
    #expect(requests.map(\.line) == ["HEAD /b", "HEAD /b/a%5Cb"])
    // From then on it is known.
    #expect(throws: TransferError.self) { try unknown.metadata(name) }
  }

  @Test("The files of a channel are listed, linked and removed by their layout")
  func files() throws {
    let body = """
      <ListBucketResult><EncodingType>url</EncodingType>\
      <Contents><Key>p/channels/a~2Fb/files/1/holiday+photo.jpg</Key><Size>3</Size>\
      <LastModified>2015-08-30T12:36:00Z</LastModified></Contents>\
      <Contents><Key>p/channels/a~2Fb/files/stray</Key><Size>3</Size></Contents></ListBucketResult>
      """
    let call = try remote.listFiles(channel: "a/b", limit: 10, next: nil)
    let (page, requests) = try run(call, [answer(200, [:], body)])
    #expect(
      requests[0].line
        == "GET /b?encoding-type=url&list-type=2&max-keys=10&prefix=p%2Fchannels%2Fa~2Fb%2Ffiles%2F"
    )
    #expect(
      page.files == [SharedFile(id: "1", name: "holiday photo.jpg", size: 3, createdMs: now)]
    )
    let url = try run(remote.fileURL(channel: "a/b", id: "1", name: "x y", nowMs: now), [])
    #expect(url.value.hasPrefix("http://127.0.0.1:9000/b/p/channels/a~2Fb/files/1/x%20y?X-Amz-"))
    let there = answer(200, objectHeaders(size: 1))
    let removal = try run(
      remote.deleteFile(channel: "c", id: "1", name: "n"),
      [there, answer(204)]
    )
    #expect(removal.requests[1].line == "DELETE /b/p/channels/c/files/1/n")
    let long = String(repeating: "x", count: 1000)
    let error = try #require(throws: TransferError.self) {
      try remote.deleteFile(channel: long, id: "1", name: "n")
    }
    #expect(error.code == .invalidArgument)
  }
}
