import Glibc
import Testing

@testable import LocalFiles

@Suite struct SafeNameTests {
  @Test(
    "names of remotes become one harmless component",
    arguments: [
      ("report.pdf", "report.pdf"), ("", "_"), (".", "_."), ("..", "_.."), ("...", "_..."),
      ("../../etc/passwd", "_.._.._etc_passwd"), ("/etc/passwd", "_etc_passwd"),
      ("a/b\\c", "a_b_c"), ("..\\..\\boot.ini", "_.._.._boot.ini"), (".bashrc", "_.bashrc"),
      (".x.0123456789.part", "_.x.0123456789.part"), ("a\0b", "a_b"), ("a\nb\r\tc", "a_b__c"),
      ("\u{1B}[2Jx", "_[2Jx"), ("a\u{7F}b\u{80}c\u{9F}d\u{A0}", "a_b_c_d\u{A0}"),
      ("photo\u{202E}gpj.exe", "photo_gpj.exe"), ("\u{2066}x\u{2069}", "_x_"),
      ("\u{200E}a\u{200F}b\u{61C}", "_a_b_"), ("a\u{200D}b", "a\u{200D}b"),
      ("a\u{2028}b\u{2029}", "a_b_"), ("CON", "CON"), ("nul.txt", "nul.txt"),
      ("a:b*c?d\"e<f>g|h", "a:b*c?d\"e<f>g|h"), ("~", "~"), ("-rf", "-rf"), ("$HOME", "$HOME"),
      ("é", "é"), ("e\u{301}", "e\u{301}"), ("/\u{301}", "_\u{301}"), ("日本語.txt", "日本語.txt"),
      ("👩‍👩‍👧‍👦.png", "👩‍👩‍👧‍👦.png"), ("a.tar.gz", "a.tar.gz"), ("trailing.", "trailing."),
    ]
  )
  func examples(remote: String, expected: String) {
    #expect(Array(SafeName.component(remote).utf8) == Array(expected.utf8))
  }

  @Test(
    "a long name is cut at a character and keeps its extension",
    arguments: [
      (String(repeating: "a", count: 255), 255, "a"),
      (String(repeating: "a", count: 256), 255, "a"),
      (String(repeating: "a", count: 300) + ".jpeg", 255, ".jpeg"),
      (String(repeating: "é", count: 200) + ".jpg", 254, "é.jpg"),
      (String(repeating: "€", count: 200) + ".txt", 253, "€.txt"),
      (String(repeating: "😀", count: 100), 252, "😀"),
      ("a." + String(repeating: "x", count: 300), 255, "x"),
      (String(repeating: ".", count: 300), 255, "."),
    ]
  )
  func cut(remote: String, bytes: Int, ending: String) {
    let name = SafeName.component(remote)
    #expect(name.utf8.count == bytes)
    #expect(name.hasSuffix(ending))
    #expect(!name.unicodeScalars.contains("\u{FFFD}"))
  }

  @Test("every name of 300 made of nasty pieces is one component that a folder takes")
  func battery() throws {
    let pieces = [
      "/", "\\", "..", ".", "\0", "\n", "\u{202E}", "\u{2066}", "é", "e\u{301}", "\u{301}", "😀",
      "\u{10FFFF}", "a", ".exe", " ", "%2F", "%00", "\u{FEFF}", "\u{FFFD}", "\u{85}", "~", "-",
      String(repeating: "x", count: 120), String(repeating: "文", count: 60), ".tar.gz", "\u{7F}",
    ]
    let folder = try TemporaryFolder()
    var state: UInt64 = 20_240_607
    for _ in 0..<300 {
      var name = ""
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      for step in 0..<Int(state >> 33 % 7) {
        state = state &* 6_364_136_223_846_793_005 &+ UInt64(step) &+ 1
        name += pieces[Int(state >> 33) % pieces.count]
      }
      let safe = SafeName.component(name)
      let bytes = Array(safe.utf8)
      #expect((1...255).contains(bytes.count), "\(name.debugDescription)")
      #expect(!bytes.contains(UInt8(ascii: "/")) && !bytes.contains(0))
      #expect(bytes.first != UInt8(ascii: "."))
      #expect(SafeName.component(safe) == safe, "a safe name stays: \(name.debugDescription)")
      try folder.file(safe, "x")
      #expect(try folder.names().count == 1, "\(name.debugDescription) made its own folder")
      #expect(unlink(folder(safe)) == 0)
    }
  }
}
