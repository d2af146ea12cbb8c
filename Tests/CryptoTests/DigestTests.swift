import Testing

@testable import Crypto

/// Known answers: RFC 1321 appendix A.5 and FIPS 180-4's examples.
@Suite struct DigestTests {
  @Test(
    "digests agree with the published examples",
    arguments: [
      (DigestAlgorithm.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
      (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
      (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
      (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        .sha256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ]
  )
  func knownAnswers(algorithm: DigestAlgorithm, text: String, expected: String) {
    let digest = Digest(algorithm)
    digest.update(Array(text.utf8))
    #expect(digest.hex == expected)
  }

  @Test("a million bytes in odd pieces give the digest of the whole")
  func pieces() {
    let digest = Digest(.sha256)
    var left = 1_000_000
    var piece = 1
    while left > 0 {
      let count = min(piece, left)
      digest.update([UInt8](repeating: UInt8(ascii: "a"), count: count))
      left -= count
      piece = piece * 3 % 8191
    }
    #expect(digest.hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test("a copy goes on alone, and finishing twice or going on after it is allowed")
  func copies() {
    let digest = Digest(.md5)
    digest.update(Array("message ".utf8))
    let copy = digest.copy()
    copy.update(Array("digest".utf8))
    #expect(copy.hex == "f96b697d7cb7938d525a2f31aaf161d0")
    #expect(copy.finish() == copy.finish())
    _ = digest.finish()
    digest.update(Array("digest".utf8))
    #expect(digest.hex == copy.hex)
  }

  @Test("no bytes at all, also from an empty buffer, change nothing")
  func emptyUpdate() {
    let digest = Digest(.sha256)
    digest.update(UnsafeRawBufferPointer(start: nil, count: 0))
    digest.update([])
    #expect(digest.hex == Digest(.sha256).hex)
  }
}
