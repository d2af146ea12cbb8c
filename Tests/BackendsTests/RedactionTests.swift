import Testing
import TransferModel

@testable import Backends

@Suite struct RedactionTests {
  @Test(arguments: [
    ("token a/b+c= is wrong", "token (secret) is wrong"),
    ("?t=a%2Fb%2Bc%3D&x=1", "?t=(secret)&x=1"),
    ("?t=a%2fb%2bc%3d", "?t=(secret)"),
    ("a/b+c=a/b+c=", "(secret)(secret)"),
    ("none\u{1B}[31m", "none [31m"),
  ])
  func leavesNoSecret(words: String, shown: String) {
    #expect([Secret("a/b+c="), Secret("")].redacted(words) == shown)
  }
}
