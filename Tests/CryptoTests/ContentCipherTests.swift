import Testing

@testable import Crypto

@Suite("Ciphers of PubNub's SDKs")
struct ContentCipherTests {
  private static let fileKey = "pubnubenigma"
  private static let text = Array("Well hello there".utf8)

  @Test("Keys are derived as the SDKs do")
  func keys() {
    let cipher = ContentCipher(cipherKey: Self.fileKey)
    #expect(
      Hex.encode(cipher.acrhKey)
        == "8361d6b44a098e02bbbaf289372b81217b5e5869b2526637530057a23f25ba9c"
    )
    #expect(
      String(decoding: cipher.legacyKey, as: UTF8.self) == "8361d6b44a098e02bbbaf289372b8121"
    )
  }

  /// The assets of PubNub's own contract tests: name, content, whether the constant
  /// initialisation vector is set, what comes out.
  @Test(
    "Files of the contract tests",
    arguments: [
      (
        "legacy-civ", "8a8c97a012f98077faa951fecbe62af90f9e96591d18d4d7b188842cc5272afb", false,
        .success(text)
      ),
      (
        "cryptor-legacy-riv",
        "53b2a5f51e69bd3bee6ed9d9829bb09d05d58c5e0338afd84c611ddf905e2a42"
          + "4dcd6df586aab404fe9d3c543a95066d",
        true, .success(text)
      ),
      (
        "legacy-riv",
        "2b73c1bcf2c522c7a3511245646a0e4b17e5a3d25531b28c48431a80e5e769b2"
          + "7206a0657dae49d4c29f760f252620da",
        true, .success(text)
      ),
      (
        "v1-acrh",
        "504e45440141435248109e5f1cb0c6bf02d42a2e75d0e71f28d24120c11cff77"
          + "746b520f91d21850ed2f1580e07ae8b9b330e3e65f61cf1c5652",
        true, .success(text)
      ),
      (
        "v1-unknown",
        "504e45440141435242109e5f1cb0c6bf02d42a2e75d0e71f28d24120c11cff77"
          + "746b520f91d21850ed2f1580e07ae8b9b330e3e65f61cf1c5652",
        true, .failure(.unknownForm)
      ),
      ("v1-short", "504e454401414352", true, .failure(.damaged)),
      ("no-version", "504e4544", true, .failure(.damaged)),
      ("unknown-acrh", "504e45440a4143524810", true, .failure(.unknownForm)),
      ("version 0", "504e4544004143524810", true, .failure(.unknownForm)),
      ("empty legacy-civ", "bdc0ee96ee88f945df8745ae367550c2", false, .success([])),
      (
        "empty legacy-riv", "2d37efb0e5ac7b532fbf58f16675607116799df1f33adcada7b3f17764c5fd15",
        true, .success([])
      ),
      ("empty cryptor-legacy-riv", "679e2e87c4b02dbae65234c0b514248e", true, .failure(.damaged)),
      (
        "empty v1-acrh", "504e4544014143524810b0ee2d8c253cf481a498a4d56fb62723", true,
        .failure(.damaged)
      ),
      ("nothing", "", true, .failure(.damaged)),
      ("header without data", "504e4544014143524800", true, .failure(.damaged)),
      ("header of the long form", "504e45440141435248FF00FF", true, .failure(.damaged)),
    ] as [(String, String, Bool, Outcome)]
  )
  func files(_ name: String, _ hex: String, _ usesRandomIV: Bool, _ expected: Outcome) {
    let cipher = ContentCipher(cipherKey: Self.fileKey, usesRandomIV: usesRandomIV)
    let bytes = Self.bytes(hex)
    #expect(Outcome { () throws(CipherError) in try cipher.decrypt(bytes) } == expected)
    // Byte by byte it comes to the same.
    let stream = cipher.decryptor()
    let slow = Outcome { () throws(CipherError) in
      var output: [UInt8] = []
      for byte in bytes { output += try stream.update([byte]) }
      return try output + stream.finish()
    }
    #expect(slow == expected)
  }

  /// Key `enigma`, older form, constant initialisation vector.
  @Test(
    "Messages of the contract tests, both ways",
    arguments: [
      ("yay!", "q/xJqqN6qbiZMXYmiQC1Fw=="), ("\"yay!\"", "Wi24KS4pcTzvyuGOHubiXg=="),
      ("[]", "Ns4TB41JjT2NCXaGLWSPAQ=="), ("{}", "IDjZE9BHSjcX67RddfCYYg=="),
      ("{\"foo\":{\"bar\":\"foobar\"}}", "GsvkCYZoYylL5a7/DKhysDjNbwn+BtBtHj2CvzC4Y4g="),
      (
        "{\"this stuff\":{\"can get\":\"complicated!\"}}",
        "zMqH/RTPlC8yrAZ2UhpEgLKUVzkMI2cikiaVg30AyUu7B6J0FLqCazRzDOmrsFsF"
      ), (#""\u6f22\u8a9e""#, "+BY5/miAA8aeuhVl4d13Kg=="),
      (#""\u00dc\u00d6""#, "stpgsG1DZZxb44J7mFNSzg=="),
      ("\"Hello there 🙃\"", "4K7StI9dRz7utFsDHvuy082CQupbJvdwzrRja47qAV4="),
    ]
  )
  func constantMessages(_ text: String, _ base64: String) throws {
    let cipher = ContentCipher(cipherKey: "enigma", form: .legacy, usesRandomIV: false)
    #expect(Base64.encode(try cipher.encrypt(Array(text.utf8))) == base64)
    #expect(try cipher.decrypt(#require(Base64.decode(base64))) == Array(text.utf8))
  }

  @Test(
    "Messages of the contract tests with random initialisation vectors",
    arguments: [
      ("yay!", "MTIzNDU2Nzg5MDEyMzQ1NjdnONoCgo0wbuMGGMmfMX0="),
      (
        "\"Hello there 🙃\"", "fRm/rMArHgQuIuhuJMbXV8JLOUqf5sP72lGC4EaW98nNhmJltQcmCol9XXWgeDJC"
      ),
      (
        "\"Hello there 🙃\"", "gk6glnaeb+8zeEvZR1q3sHyQV7xTo1pNf4cc4uJF+a2bK1fMY816Hc9I6j+gYR+5"
      ),
      (
        "\"Hello there 🙃\"",
        "UE5FRAFBQ1JIELzZwCmyT4vQLcjIAf8hSX2/mRRRby+egFPTqmwSKIFcjI1V/ig/y3M1iTlwknrTSw=="
      ),
      (
        "\"Hello there 🙃\"",
        "UE5FRAFBQ1JIECL8XmJWRSElf8c7ykQfMcnLQVc+Mta7ln3jcF7bHNmCk4nKMoyhPN19oMO5uVPxSA=="
      ),
    ]
  )
  func randomMessages(_ text: String, _ base64: String) throws {
    let cipher = ContentCipher(cipherKey: "enigma")
    #expect(try cipher.decrypt(#require(Base64.decode(base64))) == Array(text.utf8))
  }

  @Test("Encrypting with a known initialisation vector gives the published bytes")
  func knownIV() throws {
    let older = ContentCipher(cipherKey: "enigma", form: .legacy)
    let stream = Encryptor(older, iv: Array("1234567890123456".utf8))
    let yay = Array("yay!".utf8).withUnsafeBytes { stream.update($0) } + (try stream.finish())
    #expect(Base64.encode(yay) == "MTIzNDU2Nzg5MDEyMzQ1NjdnONoCgo0wbuMGGMmfMX0=")
    let iv = Self.bytes("9e5f1cb0c6bf02d42a2e75d0e71f28d2")
    let newer = Encryptor(ContentCipher(cipherKey: Self.fileKey), iv: iv)
    let file = Self.text.withUnsafeBytes { newer.update($0) } + (try newer.finish())
    #expect(
      Hex.encode(file) == "504e45440141435248109e5f1cb0c6bf02d42a2e75d0e71f28d2"
        + "4120c11cff77746b520f91d21850ed2f1580e07ae8b9b330e3e65f61cf1c5652"
    )
  }

  private static let forms = [
    ContentCipher(cipherKey: "k"), ContentCipher(cipherKey: "k", form: .legacy),
    ContentCipher(cipherKey: "k", form: .legacy, usesRandomIV: false),
  ]

  @Test("Zero bytes are refused by every form", arguments: forms)
  func zeroBytes(_ cipher: ContentCipher) {
    #expect(throws: CipherError.emptyPlaintext) { try cipher.encrypt([]) }
    #expect(throws: CipherError.emptyPlaintext) { try cipher.encryptor().finish() }
  }

  @Test("Sizes are known beforehand and what comes back is what went in", arguments: forms)
  func roundTrip(_ cipher: ContentCipher) throws {
    for size in [1, 15, 16, 17, 31, 32, 4095, 100_003] {
      let plain = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let encrypted = try cipher.encrypt(plain)
      #expect(Int64(encrypted.count) == cipher.encryptedSize(of: Int64(size)))
      #expect(try cipher.decrypt(encrypted) == plain)
      // In uneven pieces.
      let encryptor = cipher.encryptor()
      let decryptor = cipher.decryptor()
      var pieces: [UInt8] = []
      var back: [UInt8] = []
      for start in stride(from: 0, to: size, by: 7) {
        let piece = Array(plain[start..<min(size, start + 7)])
        pieces += piece.withUnsafeBytes { encryptor.update($0) }
      }
      pieces += try encryptor.finish()
      for start in stride(from: 0, to: pieces.count, by: 5) {
        back += try decryptor.update(Array(pieces[start..<min(pieces.count, start + 5)]))
      }
      #expect(try back + decryptor.finish() == plain)
    }
  }

  @Test(
    "The largest files that fit 5 MiB",
    arguments: zip(forms, [(5_242_847, 5_242_874), (5_242_863, 5_242_880), (5_242_879, 5_242_880)])
  )
  func largest(_ cipher: ContentCipher, _ sizes: (plain: Int64, stored: Int64)) {
    #expect(cipher.encryptedSize(of: sizes.plain) == sizes.stored)
    #expect(cipher.encryptedSize(of: sizes.plain + 1) > 5_242_880)
  }

  @Test("Every byte of the padding counts", arguments: 0..<16)
  func padding(_ index: Int) throws {
    // A block of padding alone is 16 times 16; flipping the ciphertext before it flips one of them.
    let cipher = ContentCipher(cipherKey: "k", form: .legacy, usesRandomIV: false)
    var encrypted = try cipher.encrypt(Array(repeating: 7, count: 16))
    encrypted[index] ^= 0x40
    #expect(throws: CipherError.self) { try cipher.decrypt(encrypted) }
  }

  @Test("Cut and lengthened ciphertext is refused", arguments: forms)
  func cut(_ cipher: ContentCipher) throws {
    let encrypted = try cipher.encrypt(Array(repeating: 7, count: 40))
    #expect(throws: CipherError.self) { try cipher.decrypt(Array(encrypted.dropLast())) }
    #expect(throws: CipherError.self) { try cipher.decrypt(encrypted + [0]) }
    #expect(throws: CipherError.self) { try cipher.decrypt(Array("x".utf8)) }
    #expect(throws: CipherError.self) {
      try ContentCipher(cipherKey: "k").decrypt(Array(repeating: 0x78, count: 32))
    }
  }

  @Test("Printing a cipher shows no key")
  func printing() {
    let cipher = ContentCipher(cipherKey: "hunter2")
    var dumped = ""
    dump(cipher, to: &dumped)
    for text in ["\(cipher)", String(reflecting: cipher), dumped] {
      #expect(!text.contains("\(cipher.acrhKey[0])"))
    }
  }

  /// What a decryption came to, without its words.
  enum Outcome: Equatable, Sendable {
    enum Fault: Equatable, Sendable { case damaged, unknownForm, emptyPlaintext }
    case success([UInt8])
    case failure(Fault)

    init(_ body: () throws(CipherError) -> [UInt8]) {
      do throws(CipherError) {
        self = .success(try body())
      } catch {
        switch error {
        case .damaged: self = .failure(.damaged)
        case .unknownForm: self = .failure(.unknownForm)
        case .emptyPlaintext: self = .failure(.emptyPlaintext)
        }
      }
    }
  }

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex.utf8)
    return stride(from: 0, to: digits.count, by: 2).map {
      UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0
    }
  }
}
