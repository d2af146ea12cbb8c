import Testing
import TransferModel

@testable import LocalFiles

@Suite struct PathResolverTests {
  @Test(
    "paths and file URIs become absolute paths",
    arguments: [
      ("/a/b", "/a/b"), ("a", "/root/a"), ("./a/../b", "/root/./a/../b"),
      ("a b%20", "/root/a b%20"),
      ("/a%41", "/a%41"), ("~", "/root/~"), ("http:x", "/root/http:x"), ("file", "/root/file"),
      ("file:x", "/root/file:x"), ("file:///a/b", "/a/b"), ("file:/a/b", "/a/b"),
      ("FILE:///a", "/a"), ("file://localhost/a", "/a"), ("file://LOCALHOST/a", "/a"),
      ("file:///a%20b%25", "/a b%"), ("file:///%C3%a9", "/é"), ("file:///é", "/é"),
      ("file:///a%3Fb%23c", "/a?b#c"), ("file:///", "/"), ("\u{301}x", "/root/\u{301}x"),
    ]
  )
  func resolves(path: String, expected: String) throws {
    let resolved = try PathResolver.resolve(path, relativeTo: "/root")
    #expect(Array(resolved.utf8) == Array(expected.utf8))
  }

  @Test("a root with a slash at its end gets no second one")
  func rootSlash() throws {
    #expect(try PathResolver.resolve("a", relativeTo: "/") == "/a")
    #expect(try PathResolver.resolve("a", relativeTo: "/r/") == "/r/a")
  }

  @Test(
    "what names no local file is refused with what to do",
    arguments: [
      "", "a\0b", "file://host/a", "file://host", "file://", "file://localhost", "file:///a%",
      "file:///a%2", "file:///a%zz", "file:///a%2Fb", "file:///a%00", "file:///%ff",
      "file:///a?b", "file:///a#b", "file://user@/a", "file://localhost:80/a", "file:///%C3",
    ]
  )
  func refused(path: String) {
    let error = failure { () throws(TransferError) in
      _ = try PathResolver.resolve(path, relativeTo: "/root")
    }
    #expect(error?.code == .invalidArgument)
  }
}
