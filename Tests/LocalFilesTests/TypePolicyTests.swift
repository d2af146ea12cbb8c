import Testing
import TransferModel

@testable import LocalFiles

@Suite struct TypePolicyTests {
  @Test(
    "files pass",
    arguments: [
      ([], [], "a.exe", nil), (["png"], [], "a.png", nil), ([".PNG"], [], "a.Png", "x/y"),
      (["*.png"], [], "a.png", nil), ([" image/png "], [], "x", "IMAGE/PNG"),
      (["IMAGE/*"], [], "x", "image/webp"), (["image/*"], [], "a.jpg", nil),
      (["image/*"], [], "a.jpg", "application/octet-stream"),
      (["text/plain"], [], "a", "text/plain; charset=utf-8"), (["tar.gz"], [], "a.tar.gz", nil),
      (["*/*"], [], "a", nil), (["*"], [], "a", nil), ([], ["exe"], "exe", nil),
      ([], ["exe"], "a.exec", nil), ([], ["image/*"], "a.txt", "text/plain"),
      ([], ["gz"], "a.tgz", nil), ([], [""], "a.txt", nil), ([], ["image"], "a.png", "image/png"),
      (["png", "image/jpeg"], ["gif"], "a.jpg", "image/jpeg"),
    ] as [([String], [String], String, String?)]
  )
  func pass(allowed: [String], blocked: [String], name: String, type: String?) throws {
    try TypePolicy(allowed: allowed, blocked: blocked).check(name: name, contentType: type)
  }

  @Test(
    "files are blocked, with the list in the message",
    arguments: [
      (["png"], [], "a.jpg", nil, "png"), (["png"], [], "png", nil, "png"),
      ([], ["exe"], "a.EXE", nil, "exe"), ([], [" .Exe "], "a.b.exe", nil, ".Exe"),
      ([], ["exe"], ".exe", nil, "exe"), ([], ["exe"], "a.exe. ", nil, "exe"),
      (["png"], ["png"], "a.png", nil, "blockedTypes"),
      ([], ["image/*"], "a", "image/png", "image/*"),
      ([], ["image/*"], "a.png", "text/plain", "image/*"), ([], ["*"], "a", nil, "*"),
      (["image/*"], [], "a.exe", nil, "image/*"), (["image/*"], [], "a", nil, "allowedTypes"),
      (["image/*"], [], "a.png", "text/html", "text/html"),
      ([""], [], "a.png", nil, "allowedTypes"),
      (["image/png"], [], "a", "image/png2", "image/png"),
      ([], ["tar.gz"], "a.tar.gz", nil, "tar.gz"),
    ] as [([String], [String], String, String?, String)]
  )
  func block(allowed: [String], blocked: [String], name: String, type: String?, says: String) {
    let error = failure { () throws(TransferError) in
      try TypePolicy(allowed: allowed, blocked: blocked).check(name: name, contentType: type)
    }
    #expect(error?.code == .fileTypeBlocked)
    #expect(error?.message.contains(says) == true, "\(error?.message ?? "passed")")
  }
}
