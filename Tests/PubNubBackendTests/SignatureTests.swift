import Backends
import Configuration
import Crypto
import Testing
import TransferModel

@testable import PubNubBackend

@Suite("Signature v2")
struct SignatureTests {
  /// Those of PubNub's own SDKs.
  @Test(
    "Published vectors",
    arguments: [
      (
        "GET", "pub-c-03f156ea-a2e9-4c35-a733-9535824be897",
        "sec-c-MmUxNTZjMmYtNzFkNS00OAkzLWE2YjctNmQ4YzE5NWNmZDA3",
        "/v1/objects/sub-c-d7da9e59-c997-11e9-a139-dab2c75acd6f/spaces/pandu-ut-sid/users",
        "l_obj=0.4545555556&l_pam=1.145&pnsdk=PubNubCSharp4.0.34.0"
          + "&requestid=19e1dee9-2f87-45d6-97e5-3f4d3f9779a2&timestamp=1568724043&uuid=mytestuuid",
        "", "v2.TcZdUURiXAnxJgN4OLPczxzH4MQO87l-yKfE4fyUHGc"
      ),
      (
        "GET", "pub-c-38994634-9e06-4967-bc66-2ac2cef65ed9",
        "sec-c-ZDkzZTBkOTEtNTQxZS00VmQ3LTljMWUtMTNiNGZjNWUwMTVk",
        "/v1/objects/sub-c-c9710929-1b7a-11e3-a0c8-02ee2ddab7fe/users",
        "count=true&filter=name%3D%3D%27newnamemodified%27&include=custom"
          + "&pnsdk=NET461CSharp4.5.0.0&timestamp=1577364610"
          + "&uuid=pn-856feea0-5ba3-4c6d-85a2-a67efa1f4e20",
        "", "v2.w39EWDHc0ibDCxOD2jiJEutjpc_1VJ1SDyGaABEljSs"
      ),
      (
        "POST", "pub-c-cdea0ef1-c571-4b72-b43f-ff1dc8aa4c5d",
        "sec-c-YTYxNzVjYzctNDY2MS00N2NmLTg2NjYtNGRlNWY1NjMxMDBm",
        "/v1/objects/sub-c-4757f09c-c3f2-11e9-9d00-8a58a5558306/users",
        "include=custom&pnsdk=PubNub-Go/4.6.5&timestamp=1583493622"
          + "&uuid=pn-01fb5308-f0ce-480b-b051-6ff98ba22467",
        #"{"id":"id0","name":"name","externalId":"extid","profileUrl":"purl","email":"email","#
          + #""custom":{"a":"b","c":"d"}}"#,
        "v2.a--gef4a6Rm3Oe7k2pPOP9IbjRPWi5Ky-RKpIcQIYn0"
      ),
      (
        "GET", "pub-demo", "sec-demo-secret", "/v1/files/sub-demo/channels/my%20ch%2Fa/files",
        "limit=100&pnsdk=Emu%2F1.0&timestamp=1700000000&uuid=user%201", "",
        "v2.tr2KrbzkrF6PjT4fWBtE2F08LSJOUCbm05zmvnz2sf8"
      ),
      (
        "POST", "pub-demo", "sec-demo-secret",
        "/v1/files/sub-demo/channels/ch/generate-upload-url",
        "pnsdk=Emu%2F1.0&timestamp=1700000000&uuid=u1", #"{"name":"a b.txt"}"#,
        "v2.qMWO0jtuvSPJWmSe3TcAxrWybvOCEjsDbjKNO8_a0nI"
      ),
      (
        "DELETE", "pub-demo", "sec-demo-secret",
        "/v1/files/sub-demo/channels/ch/files/d9515cb7-48a7-41a4-9284-f4bf331bc770/king_arthur.txt",
        "pnsdk=Emu%2F1.0&timestamp=1700000000&uuid=u1", "",
        "v2.9vbw1nturbe_jUFbKaC4crvPK_eC7XqvzLUvRE71LBE"
      ),
      (
        "GET", "pub-demo", "sec-demo-secret",
        "/v1/files/publish-file/pub-demo/sub-demo/0/ch/0/%7B%22message%22%3A%22hi%22%2C%22file"
          + "%22%3A%7B%22id%22%3A%22f1%22%2C%22name%22%3A%22a.txt%22%7D%7D",
        "meta=%7B%22k%22%3A%22v%22%7D&pnsdk=Emu%2F1.0&store=1&timestamp=1700000000&uuid=u1", "",
        "v2.CcZchoDh5sNB8MkcUc2XYbQ-kgUqZ0-wweK9uJkmiCI"
      ),
    ] as [(String, String, String, String, String, String, String)]
  )
  func vectors(_ vector: (String, String, String, String, String, String, String)) {
    let (method, publishKey, secretKey, path, query, body, signature) = vector
    #expect(
      Signature.make(
        method: method,
        publishKey: publishKey,
        path: path,
        query: query,
        body: Array(body.utf8),
        secretKey: Secret(secretKey)
      ) == signature
    )
  }

  @Test("The old form's hash, which v2 shares")
  func hash() {
    let hash = HMAC.sha256(key: Array("secret".utf8), Array("Pubnub Messaging 1".utf8))
    #expect(
      Signature.urlSafe(Base64.encode(hash)) + "=" == "mIoxTVM2WAM5j-M2vlp9bVblDLoZQI5XIoYyQ48U0as="
    )
  }

  @Test("What is signed is what is sent, sorted, with ~ escaped")
  func whatIsSigned() throws {
    let remote = remote {
      $0.secretKey = Secret("sec")
      $0.userID = "u~1"
    }
    let request = try remote.authorize(
      remote.slotRequest(channel: "ch", name: "n"),
      nowMs: 1_700_000_000_999
    )
    let query = "pnsdk=Ferry%2F1&timestamp=1700000000&uuid=u%7E1"
    let signature = Signature.make(
      method: "POST",
      publishKey: "pub",
      path: request.path,
      query: query,
      body: Array(#"{"name":"n"}"#.utf8),
      secretKey: Secret("sec")
    )
    #expect(request.query == "\(query)&signature=\(signature)")
  }

  @Test("A clock that is off is learned from the answer, once")
  func clock() throws {
    let remote = remote { $0.secretKey = Secret("sec") }
    let refused = answer("{}", 400, [HTTPHeader("Date", "Sun, 06 Nov 1994 08:49:37 GMT")])
    let request = remote.deleteRequest(channel: "c", id: "i", name: "n")
    let here: Int64 = 784_111_777_000 - 3_600_000
    guard case .amend = remote.judge(refused, to: request, nowMs: here) else {
      Issue.record("not learned")
      return
    }
    #expect(remote.judge(refused, to: request, nowMs: here) == .accept)
    #expect(try remote.authorize(request, nowMs: here).query.contains("timestamp=784111777&"))
  }

  @Test(
    "Dates of servers",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199_000), ("x", nil),
      ("Sun Nov  6 08:49:37 1994", nil), ("Sun, 06 Nov 1994 08:49 GMT", nil),
      ("Sun, 06 Nov 999999999999999999 08:49:37 GMT", nil), ("Sun, 99 Nov 1994 08:49:37 GMT", nil),
      ("Sun, 06 Nov 1994 9999999999:49:37 GMT", nil),
    ] as [(String, Int64?)]
  )
  func dates(_ text: String, _ expected: Int64?) {
    #expect(HTTPDate.milliseconds(text) == expected)
  }
}
