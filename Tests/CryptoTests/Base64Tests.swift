import Testing

@testable import Crypto

@Suite struct Base64Tests {
  @Test(
    "the examples of RFC 4648 section 10 and both last characters of the alphabet",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
      ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"), ("~~~???>>>", "fn5+Pz8/Pj4+"),
    ]
  )
  func examples(plain: String, text: String) {
    #expect(Base64.encode(Array(plain.utf8)) == text)
    #expect(Base64.decode(text) == Array(plain.utf8))
  }

  @Test(
    "what is not the one spelling of a value is refused",
    arguments: [
      "Z", "Zg", "Zg=", "Zg===", "=", "====", "Z===", "Zh==", "Zm9=", "Zm9vZg", "Zg==Zg==",
      "Zm8=Zm9v", "Zm9v\n", "Zm9v\r\nZm9v", " m9v", "Zm 9", "Zm9-", "Zm9_", "Zm9é", "Zm=v",
      "Z\0==", "Zm9\u{7F}", "A=A=",
    ]
  )
  func refused(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test("every length and every byte comes back")
  func roundTrip() {
    let all = (0..<1024).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 / 256) }
    for length in 0...all.count {
      let bytes = Array(all.prefix(length))
      #expect(Base64.decode(Base64.encode(bytes)) == bytes)
    }
  }

  @Test("each single character is decoded exactly where the alphabet has it")
  func alphabet() {
    for byte in UInt8.min...UInt8.max {
      let text: [UInt8] = [65, byte, 65, 65]
      let decoded = text.withUnsafeBufferPointer { Base64.decode($0) }
      let isKnown =
        Character(UnicodeScalar(byte)).isASCII
        && (Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber
          || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/"))
      #expect((decoded != nil) == isKnown, "byte \(byte)")
    }
  }
}
