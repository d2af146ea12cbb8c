import Testing
import TransferModel

@testable import S3Backend

@Suite("Names of messages")
struct MessageKeyTests {
  static let moment = Timetoken(17_000_000_000_000_000)

  @Test(
    "A name tells everything that a list has to know",
    arguments: [
      (MessageKey(moment, id: "abc"), "82999999999999999-abc"),
      (MessageKey(moment, id: "abc", expires: 5), "82999999999999999-abc-x5"),
      (MessageKey(moment, id: "abc", isStored: false), "82999999999999999-abc-live"),
      (
        MessageKey(moment, id: "abc", expires: 5, isStored: false),
        "82999999999999999-abc-x5-live"
      ),
      (MessageKey(Timetoken(0), id: "0"), "99999999999999999-0"),
      (MessageKey(Timetoken(99_999_999_999_999_999), id: "0"), "00000000000000000-0"),
    ]
  )
  func names(_ key: MessageKey, _ name: String) {
    #expect(key.name == name)
    #expect(MessageKey(name) == key)
  }

  @Test(
    "What is no message is none",
    arguments: [
      "", "-", "82999999999999999", "82999999999999999-", "8299999999999999-abc",
      "829999999999999999-abc", "82999999999999999-ABC", "82999999999999999-a/b",
      "82999999999999999-a-x", "82999999999999999-a-5", "82999999999999999-a-live-x5",
      "82999999999999999-a-x5-x6", "8299999999999999x-a", "82999999999999999-a-",
    ]
  )
  func others(_ name: String) { #expect(MessageKey(name) == nil) }

  @Test("Lists begin with the newest; messages are in order of moment, then id")
  func order() {
    let keys = [
      MessageKey(Self.moment, id: "a"), MessageKey(Self.moment, id: "b"),
      MessageKey(Timetoken(Self.moment.value + 1), id: "a"),
    ]
    #expect(keys.shuffled().sorted() == keys)
    #expect(keys[2].name < keys[0].name)
    let mark = MessageKey.mark(behind: Self.moment)
    #expect(keys[1].name < mark)
    #expect(mark < MessageKey(Timetoken(Self.moment.value - 1), id: "0").name)
    #expect(keys[0].name.hasPrefix(MessageKey.prefix(of: Self.moment)))
  }

  @Test("An expiry holds from its second on")
  func expiry() {
    let key = MessageKey(Self.moment, expires: 5)
    #expect(!key.isExpired(atMs: 4999))
    #expect(key.isExpired(atMs: 5000))
    #expect(!MessageKey(Self.moment).isExpired(atMs: .max))
  }
}
