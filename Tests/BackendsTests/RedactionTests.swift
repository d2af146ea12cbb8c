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

  @Test("The secret that another begins with leaves nothing of it")
  func prefixes() {
    #expect([Secret("abc"), Secret("abcdef")].redacted("abcdef abc") == "(secret) (secret)")
  }

  @Test("What is out of use is remembered, the latest of very much")
  func spent() {
    var spent = SpentSecrets()
    for number in 0..<100 { spent.add([Secret("\(number)"), nil]) }
    spent.add([Secret("50")])
    #expect(spent.all.map(\.text) == (36..<100).filter { $0 != 50 }.map(String.init) + ["50"])
  }
}
