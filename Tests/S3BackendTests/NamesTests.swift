import Configuration
import JSON
import Testing
import TransferModel

@testable import S3Backend

@Suite("Names")
struct NamesTests {
  /// What people call files and what servers do not keep.
  static let names = [
    "a", "holiday photo.jpg", "a+b %20 #1 ?&='\".txt", "é e\u{301} 🙂", "a/b\\c", "..", ".", "...",
    "a.", "a ", " ", "~", "~2F", "\u{1}\n\t\u{7F}", String(repeating: "x", count: 255),
    String(repeating: "🙂", count: 100), String(repeating: "/", count: 120),
    String(repeating: ".", count: 450), String(repeating: "~", count: 99), "CON", "a//b", "/",
    "\u{301}mark first",
  ]

  @Test(
    "Every name of a channel's file becomes components that every server keeps",
    arguments: names
  )
  func layout(_ name: String) throws {
    let path = ChannelLayout.path(channel: name, id: "id1", name: name)
    #expect(KeyRules.isReference(path))
    #expect(!KeyRules.isDelicate(path))
    for component in path.split(separator: "/") {
      #expect(component.utf8.count <= 255)
      #expect(component.last != "." && component.last != " ")
    }
    #expect(!path.unicodeScalars.contains { $0.value < 32 || $0 == "\\" || $0.value == 127 })
    let folder = ChannelLayout.folder(of: name) + "/"
    #expect(path.hasPrefix(folder))
    let file = try #require(ChannelLayout.file(below: String(path.dropFirst(folder.count))))
    #expect(file.id == "id1")
    #expect(file.name.utf8.elementsEqual(name.utf8))
    #expect(ChannelLayout.name(ofFileAt: path)?.utf8.elementsEqual(name.utf8) == true)
    let ofFiles = ChannelLayout.path(channel: "files", id: "files", name: name)
    #expect(ChannelLayout.name(ofFileAt: ofFiles)?.utf8.elementsEqual(name.utf8) == true)
  }

  @Test("Different names have different paths")
  func distinct() {
    let tricky = Self.names + ["a~2Fb", "a\\b", "a/b", "a~5Cb", "~7E2F", "é", "e\u{301}"]
    let paths = Set(tricky.map { Array(ChannelLayout.encode($0).utf8) })
    #expect(paths.count == Set(tricky.map { Array($0.utf8) }).count)
  }

  @Test("Usual names stay readable")
  func readable() {
    #expect(ChannelLayout.encode("holiday photo (1).jpg") == "holiday photo (1).jpg")
    #expect(ChannelLayout.encode("a/b~c") == "a~2Fb~7Ec")
  }

  @Test(
    "What another tool put there is no file of ours",
    arguments: ["", "x", "id/", "/name", "id/a~", "id/a~2f", "id/a~zz", "id/a./b", "id/a~41"]
  )
  func foreign(_ path: String) {
    #expect(ChannelLayout.file(below: path) == nil)
  }

  @Test(
    "A key that a server would alias or refuse is refused here",
    arguments: [
      ("a\\b", [.seaweedfs, .minio, .other]), ("a/../b", [.seaweedfs, .minio, .rclone, .other]),
      ("./a", [.seaweedfs, .minio, .rclone, .other]),
      ("a/.", [.seaweedfs, .minio, .rclone, .other]),
      ("..a/b..", []), ("a/" + String(repeating: "x", count: 255), []),
      ("a/" + String(repeating: "x", count: 256), [.seaweedfs, .minio, .rclone]),
      (String(repeating: "x/", count: 511) + "xx", []),
      (
        String(repeating: "x/", count: 512) + "x",
        [.aws, .r2, .ceph, .minio, .seaweedfs, .rclone, .other, nil]
      ), ("a\0b", [.aws, .r2, .ceph, .minio, .seaweedfs, .rclone, .other, nil]),
      ("a+b %20#?&=\n🙂", []),
    ] as [(String, [Provider?])]
  )
  func rules(_ key: String, _ refusing: [Provider?]) {
    let all: [Provider?] = [.aws, .r2, .ceph, .minio, .seaweedfs, .rclone, .other, nil]
    for provider in all {
      let isRefused: Bool
      do throws(TransferError) {
        try KeyRules.check(key, for: provider)
        isRefused = false
      } catch {
        #expect(error.code == .invalidReference)
        isRefused = true
      }
      #expect(isRefused == refusing.contains(provider), "\(String(describing: provider))")
      // Whether it is refused is known before anything is asked, or asked for first.
      if isRefused, provider != nil, !refusing.contains(nil) { #expect(KeyRules.isDelicate(key)) }
    }
  }

  @Test(
    "URLs of objects",
    arguments: [
      ("s3://bkt/pre/a b/c%20d", "a b/c%20d"), ("S3://bkt/pre/x", "x"), ("s3://bkt/pre", ""),
      ("s3://bkt/pre/\u{301}x", "\u{301}x"),
      ("http://h:9000/bkt/pre/a%20b%2Fc", "a b/c"), ("http://H:9000/bkt/pre/x", "x"),
      ("http://bkt.h:9000/pre/x", "x"),
      ("http://h:9000/bkt/pre/x?X-Amz-Signature=1&X-Amz-Date=2", "x"),
      ("http://h:9000/bkt/pre", ""),
    ]
  )
  func references(_ url: String, _ path: String) throws {
    #expect(try remote.reference(url).fullPath == path)
  }

  @Test(
    "URLs of other things are refused",
    arguments: [
      "gs://bkt/pre/x", "s3://other/pre/x", "s3://bkt/elsewhere/x", "s3://bkt/prefix",
      "s3://bkt/pre//x",
      "s3://bkt/pre/x/", "https://h:9000/bkt/pre/x", "http://h/bkt/pre/x",
      "http://h:9000/other/pre/x",
      "http://evil/bkt/pre/x", "http://h:9000/bkt/pre/x?versionId=1", "http://h:9000/bkt/pre/x#f",
      "http://h:9000/bkt/pre/%zz", "http://h:9000", "http://", "s3://",
    ]
  )
  func badReferences(_ url: String) throws {
    let error = try #require(throws: TransferError.self) { try remote.reference(url) }
    #expect(error.code == .invalidReference)
    #expect(error.field == "/ref")
  }

  private var remote: S3Remote {
    makeRemote {
      $0.endpoint = "http://h:9000"
      $0.bucket = "bkt"
      $0.prefix = ObjectReference(path: "pre")
    }
  }
}

@Suite("Metadata")
struct MetadataHeadersTests {
  private func roundTrip(_ settable: SettableMetadata) throws -> SettableMetadata {
    let headers = try MetadataHeaders.make(settable, .init(token: "t", sha256: "h"))
    for header in headers {
      #expect(header.value.utf8.allSatisfy { $0 >= 32 && $0 < 127 }, "\(header.value)")
      #expect(!header.value.isEmpty)
    }
    // S3 keeps the names of custom metadata in lower case; Go's servers answer in their own case.
    let stored = headers.map { header in
      header.name.hasPrefix("x-amz-meta-")
        ? HTTPHeader(header.name.uppercased(), header.value) : header
    }
    let (read, marks) = MetadataHeaders.read(stored)
    #expect(marks == .init(token: "t", sha256: "h"))
    return read
  }

  @Test("Everything a host sets comes back")
  func everything() throws {
    var settable = SettableMetadata(
      contentType: "text/html; charset=utf-8",
      custom: [
        "plain": "x", "authorName": "Ada", "AUTHORNAME": "other", "authorname": "third",
        "größe": "Größe 🙂", "a b": "  outer  and  inner ", "empty": "", "looks": "=?UTF-8?Q?x?=",
        "lines": "a\r\nb\tc", "trailing-2": "\\\"'", "Trailing": "1", "trailing": "2",
      ]
    )
    settable.cacheControl = "no-cache"
    settable.contentDisposition = "attachment; filename=\"a.txt\""
    settable.contentEncoding = "gzip"
    settable.contentLanguage = "de-CH"
    #expect(try roundTrip(settable) == settable)
  }

  @Test("Keys and values that other tools wrote are shown as they are")
  func foreign() {
    let (settable, marks) = MetadataHeaders.read([
      HTTPHeader("x-amz-meta-mtime", "1700000000.1"), HTTPHeader("X-Amz-Meta-My_Key", "a=?b"),
      HTTPHeader("x-amz-meta-w", "=?utf-8?b?R3LDtsOfZQ==?= =?UTF-8?q?_=F0=9F=99=82?="),
      HTTPHeader("x-amz-meta-ferry-names", "gone=Gone,odd"), HTTPHeader("x-amz-version-id", "1"),
    ])
    #expect(settable.custom == ["mtime": "1700000000.1", "my_key": "a=?b", "w": "Größe 🙂"])
    #expect(settable.contentType == "application/octet-stream")
    #expect(marks == .init())
  }

  @Test("Readable text stays readable")
  func readable() throws {
    let headers = try MetadataHeaders.make(
      SettableMetadata(
        contentType: "a/b",
        custom: ["note": "plain text", "city": "Zürich", "k": "日本"]
      ),
      .init()
    )
    #expect(headers.first("x-amz-meta-note") == "plain text")
    #expect(headers.first("x-amz-meta-city") == "=?UTF-8?Q?Z=C3=BCrich?=")
    #expect(headers.first("x-amz-meta-k") == "=?UTF-8?B?5pel5pys?=")
    #expect(headers.first("x-amz-meta-ferry-names") == nil)
  }

  @Test("How other clients framed a body is no coding of the content")
  func framing() {
    func coding(_ value: String) -> String? {
      MetadataHeaders.read([HTTPHeader("content-encoding", value)]).0.contentEncoding
    }
    #expect(coding("aws-chunked") == nil)
    #expect(coding("gzip, aws-chunked") == "gzip")
    #expect(coding("gzip, br") == "gzip, br")
  }

  @Test("What S3 cannot keep is refused before anything is sent")
  func refused() throws {
    func error(_ change: (inout SettableMetadata) -> Void) -> TransferError? {
      var settable = SettableMetadata(contentType: "a/b")
      change(&settable)
      do throws(TransferError) {
        _ = try MetadataHeaders.make(settable, .init())
        return nil
      } catch {
        return error
      }
    }
    #expect(
      error { $0.contentDisposition = "attachment; filename=\"ü\"" }?.field
        == "/metadata/contentDisposition"
    )
    #expect(error { $0.cacheControl = "a\r\nx: y" }?.field == "/metadata/cacheControl")
    #expect(error { $0.contentType = " a/b" }?.code == .invalidArgument)
    #expect(error { $0.custom = ["ferry-token": "x"] }?.field == "/metadata/custom")
    #expect(error { $0.custom = ["Ferry-X": "x"] }?.field == "/metadata/custom")
    #expect(error { $0.custom = ["": "x"] }?.field == "/metadata/custom")
    #expect(error { $0.custom = ["k": String(repeating: "x", count: 2047)] } == nil)
    #expect(
      error { $0.custom = ["k": String(repeating: "x", count: 2048)] }?.code == .invalidArgument
    )
  }

  @Test(
    "Encoded words that are not are left alone",
    arguments: [
      "=?", "=?UTF-8?Q?a", "=?UTF-8?X?a?=", "=?latin1?Q?=FC?=", "=?UTF-8?B?*?=", "=?UTF-8?Q?=F?=",
    ]
  )
  func oddWords(_ value: String) {
    #expect(EncodedWord.decode(value) == value)
  }
}
