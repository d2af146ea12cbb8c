import Backends
import Configuration
import Crypto
import JSON
import Testing
import TransferModel

@testable import PubNubBackend

@Suite("Messages")
struct PayloadTests {
  private static let announcement = Announcement(
    channel: "ch",
    fileID: "f1",
    fileName: "a.txt",
    message: raw(#"{"t":"hi"}"#)
  )
  private static let plain = #"{"message":{"t":"hi"},"file":{"id":"f1","name":"a.txt"}}"#

  @Test("Encrypted, the whole announcement is one text")
  func encryption() throws {
    let cipher = ContentCipher(cipherKey: "enigma")
    let bytes = try Payload(cipher: cipher).encode(Self.announcement)
    let text = try JSONNode(parsing: bytes).string()
    let decoded = try cipher.decrypt(#require(Base64.decode(text)))
    #expect(String(decoding: decoded, as: UTF8.self) == Self.plain)
  }

  @Test("What was encrypted comes back, of every form")
  func decryption() throws {
    for cipher in [
      ContentCipher(cipherKey: "enigma"), ContentCipher(cipherKey: "enigma", form: .legacy),
      ContentCipher(cipherKey: "enigma", form: .legacy, usesRandomIV: false),
    ] {
      let bytes = try Payload(cipher: cipher).encode(Self.announcement)
      let reader = ContentCipher(cipherKey: "enigma", usesRandomIV: cipher.usesRandomIV)
      let decoded = Payload(cipher: reader).decode(try JSONNode(parsing: bytes))
      #expect(decoded.error == nil)
      #expect(decoded.node.raw == raw(Self.plain))
    }
  }

  @Test("Text that is not JSON comes as text")
  func text() throws {
    let cipher = ContentCipher(cipherKey: "enigma", usesRandomIV: false)
    let node = try JSONNode(parsing: Array(#""q/xJqqN6qbiZMXYmiQC1Fw==""#.utf8))
    let decoded = Payload(cipher: cipher).decode(node)
    #expect(decoded.error == nil)
    #expect(decoded.node.raw == raw(#""yay!""#))
  }

  @Test(
    "What cannot be decrypted comes as it is, with the reason",
    arguments: [#""not base 64""#, #""AAAA""#, "\"UE5FRA==\"", #"{"plain":1}"#, "7", #""""#]
  )
  func undecryptable(_ json: String) throws {
    let cipher = ContentCipher(cipherKey: "enigma")
    let decoded = Payload(cipher: cipher).decode(try JSONNode(parsing: Array(json.utf8)))
    #expect(decoded.error?.code == .decryptionFailed)
    #expect(decoded.node.raw == raw(json))
  }

  @Test("Push-shaped messages have their encrypted part beside")
  func push() throws {
    let cipher = ContentCipher(cipherKey: "enigma")
    let sealed = Base64.encode(try cipher.encrypt(Array(#"{"x":1}"#.utf8)))
    let json = #"{"pn_apns":{},"pn_other":"\#(sealed)"}"#
    let decoded = Payload(cipher: cipher).decode(try JSONNode(parsing: Array(json.utf8)))
    #expect(decoded.error == nil)
    #expect(decoded.node.raw == raw(#"{"x":1}"#))
  }

  @Test("Announcements of other SDKs are read")
  func others() throws {
    let swift = #"{"file":{"size":3,"id":"f","name":"n","mime-type":"a/b"},"extra":1}"#
    let read = try #require(Payload.file(in: JSONNode(parsing: Array(swift.utf8))))
    #expect(read.message == nil)
    #expect(read.file == SharedFile(id: "f", name: "n", size: 3, contentType: "a/b"))
    let python = #"{"message":null,"file":{"id":"f","name":"n"}}"#
    #expect(try Payload.file(in: JSONNode(parsing: Array(python.utf8)))?.message == nil)
    for bad in [#"{"file":{}}"#, #"{"file":{"id":1,"name":"n"}}"#, "7", #""x""#, #"{"file":"x"}"#] {
      #expect(try Payload.file(in: JSONNode(parsing: Array(bad.utf8))) == nil)
    }
  }

  @Test("Entries of history in all their spellings")
  func history() throws {
    let body = """
      {"status":200,"error":false,"error_message":"","channels":{"c%20h":[
      {"message":{"file":{"id":"F","name":"n"}},"timetoken":"17","message_type":4,"uuid":"u",
       "custom_message_type":"my-type","meta":{"k":1}},
      {"message":"hi","timetoken":"16","message_type":null,"meta":""},
      {"message":7,"timetoken":15,"message_type":"1"},{"message":{"text":"x"},"timetoken":"14"},
      {"message":{"x":1},"timetoken":"13","message_type":4},{"no":"time"}]},
      "more":{"url":"/x","start":"13","max":5}}
      """
    let page = try remote().page(answer(body), channel: "c h", cipher: nil, nowMs: 0)
    #expect(page.messages.map(\.timetoken.value) == [13, 14, 15, 16, 17])
    #expect(page.messages.map(\.kind) == [.file, .message, .signal, .message, .file])
    #expect(page.messages[0].error != nil)
    #expect(page.messages[3].meta == nil)
    let file = page.messages[4]
    #expect(file.publisher == "u")
    #expect(file.customMessageType == "my-type")
    #expect(file.meta == raw(#"{"k":1}"#))
    #expect(file.fileURL?.contains("/channels/c%20h/files/F/n?") == true)
    #expect(page.more == Timetoken(13))
  }
}
