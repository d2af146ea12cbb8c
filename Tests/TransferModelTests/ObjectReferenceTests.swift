import JSON
import Testing
import TransferModel

@Suite("References are normalised as Firebase Storage does")
struct ObjectReferenceTests {
  @Test(
    "Slashes collapse, nothing else changes",
    arguments: [
      ("", ""), ("/", ""), ("//////", ""), ("/path///to////object///", "path/to/object"),
      ("foo/..", "foo/.."), ("..", ".."), (".", "."), ("a b/ü", "a b/ü"), ("%2F", "%2F"),
      ("e\u{301}/x", "e\u{301}/x"),
    ]
  )
  func normalisation(path: String, expected: String) {
    #expect(ObjectReference(path: path).fullPath == expected)
  }

  @Test(
    "Parent and name",
    arguments: [
      ("a/b/c", "a/b", "c"), ("a", "", "a"), ("", nil, ""), ("é", "", "é"),
    ] as [(String, String?, String)]
  )
  func parentAndName(path: String, parent: String?, name: String) {
    let reference = ObjectReference(path: path)
    #expect(reference.parent?.fullPath == parent)
    #expect(reference.name == name)
  }

  @Test("A child goes below, even one called ..")
  func child() {
    let foo = ObjectReference(path: "foo")
    #expect(foo.child("bar/baz").fullPath == "foo/bar/baz")
    #expect(foo.child("..").fullPath == "foo/..")
    #expect(foo.child("").fullPath == "foo")
  }
}

@Suite("Content types")
struct ContentTypeTests {
  @Test(
    "By extension, whatever its case",
    arguments: [
      ("a.png", "image/png"), ("A.PNG", "image/png"), ("x/y.tar.gz", "application/gzip"),
      ("noext", nil), (".profile", nil), ("a.", nil), ("a.unknownext", nil),
      ("dir.png/file", nil),
    ] as [(String, String?)]
  )
  func byName(name: String, type: String?) {
    #expect(ContentType.ofName(name) == type)
  }
}

@Suite("Errors")
struct ErrorCodeTests {
  @Test("Every code has a number of its own and a name that starts with ERR_")
  func numbers() {
    let numbers = ErrorCode.allCases.map(\.number)
    #expect(Set(numbers).count == numbers.count)
    #expect(ErrorCode.allCases.allSatisfy { $0.rawValue.hasPrefix("ERR_") })
    for code in ErrorCode.allCases where code.number > -32_000 {
      #expect(code.number >= 1001, "\(code)")
    }
  }

  @Test("What is retryable never means that the request itself must change")
  func retryableOrRejecting() {
    for code in ErrorCode.allCases {
      #expect(!(code.isRetryable && code.rejects), "\(code)")
    }
  }

  @Test("A phase is set once")
  func phase() {
    let error = TransferError(.network, "x").during(.upload)
    #expect(error.phase == .upload)
    #expect(error.during(.list).phase == .upload)
  }
}

@Suite("Ids and timetokens")
struct IdentifierTests {
  @Test(
    "Transfer ids are 1 to 128 characters without control characters",
    arguments: [
      ("", false), ("a", true), (String(repeating: "x", count: 128), true),
      (String(repeating: "x", count: 129), false), ("a\nb", false), ("日本", true),
    ]
  )
  func transferID(text: String, isValid: Bool) {
    #expect((TransferID(text) != nil) == isValid)
  }

  @Test(
    "Timetokens are decimal digits",
    arguments: [
      ("17960297595486438", true), ("0", true), ("", false), ("-1", false), ("1.5", false),
      ("99999999999999999999", false), ("１", false),
    ]
  )
  func timetoken(text: String, isValid: Bool) {
    #expect((Timetoken(text) != nil) == isValid)
    if isValid { #expect(Timetoken(text)?.description == text) }
  }
}

@Suite("Metadata patches")
struct MetadataPatchTests {
  @Test("Absent leaves, null clears, a value sets")
  func patch() {
    var old = SettableMetadata(contentType: "text/plain", custom: ["a": "1", "b": "2"])
    old.cacheControl = "no-cache"
    old.contentLanguage = "de"
    var patch = MetadataPatch()
    patch.cacheControl = .some(nil)
    patch.contentType = .some(nil)
    patch.custom = .some(["a": nil, "c": "3"])
    let new = patch.applied(to: old)
    #expect(new.cacheControl == nil)
    #expect(new.contentLanguage == "de")
    #expect(new.contentType == "application/octet-stream")
    #expect(new.custom == ["b": "2", "c": "3"])
    var clear = MetadataPatch()
    clear.custom = .some(nil)
    #expect(clear.applied(to: old).custom.isEmpty)
  }
}
