import Backends
import Testing
import TransferModel

@testable import S3Backend

/// The published test suite of AWS Signature Version 4, the cases that apply to S3.
@Suite("Signatures")
struct SigV4Tests {
  private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  private static let time = "20150830T123600Z"
  private let signer = SigV4(
    accessKeyID: "AKIDEXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    day: "20150830",
    region: "us-east-1",
    service: "service"
  )

  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var path: String
    var query: [(name: String, value: String)] = []
    var header: String
    var presigned: String
  }

  static let cases = [
    Case(
      testDescription: "get-vanilla",
      path: "/",
      header: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
      presigned: "e93c787ed7f371d5c6b165c1b38ede9550f4dce4144713e844b25b7192d3865d"
    ),
    Case(
      testDescription: "get-utf8",
      path: "/\u{1234}",
      header: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
      presigned: "10eae3f14a260bd3911cc6d008d3c576d143b05b62f09782a7a4b37f52178e44"
    ),
    Case(
      testDescription: "get-space-unnormalized",
      path: "/example space/",
      header: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
      presigned: "7a1f416954786484c9824d93c1f26ef64acb9b1b6c9154d08c9f07d0e394abf6"
    ),
    Case(
      testDescription: "get-slashes-unnormalized",
      path: "//example//",
      header: "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5",
      presigned: "822a5a9ba28072c5ab2bb4a6307d0c88276d40e49fec6b724c03fb4d4ba60fc2"
    ),
    Case(
      testDescription: "get-slash-dot-slash-unnormalized",
      path: "/./",
      header: "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a134695145",
      presigned: "a9b13e8f3484d9505bf1a6f347219f8f35b0fe8f128ceea597efc146a3dfe90c"
    ),
    Case(
      testDescription: "get-vanilla-query-order-encoded",
      path: "/",
      query: [("Param-3", "Value3"), ("Param", "Value2"), ("\u{1234}", "Value1")],
      header: "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
      presigned: "c5f1848ceec943ac2ca68ee720460c23aaae30a2300586597ada94c4a65e4787"
    ),
  ]

  private func request(_ example: Case) -> HTTPRequest {
    HTTPRequest(
      .get,
      origin: "https://example.amazonaws.com",
      path: PercentEncoding.path(example.path),
      query: PercentEncoding.query(example.query),
      headers: [HTTPHeader("X-Amz-Date", Self.time), HTTPHeader("User-Agent", "not signed")]
    )
  }

  @Test("The published suite, in headers", arguments: cases)
  func headers(_ example: Case) {
    let value = signer.authorization(request(example), payload: Self.empty, time: Self.time)
    #expect(
      value
        == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        + "SignedHeaders=host;x-amz-date, Signature=\(example.header)"
    )
  }

  @Test("The published suite, in the query", arguments: cases)
  func presigned(_ example: Case) {
    let query = signer.presignedQuery(
      request(example),
      parameters: example.query,
      payload: Self.empty,
      sessionToken: nil,
      seconds: 3600,
      time: Self.time
    )
    #expect(query.hasSuffix("&X-Amz-Signature=\(example.presigned)"), "\(query)")
  }

  /// Amazon's documentation of S3, "Authenticating Requests: Using Query Parameters".
  @Test("A presigned URL of S3 as documented")
  func documented() {
    let signer = SigV4(
      accessKeyID: "AKIAIOSFODNN7EXAMPLE",
      secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      day: "20130524",
      region: "us-east-1"
    )
    let request = HTTPRequest(
      .get,
      origin: "https://examplebucket.s3.amazonaws.com",
      path: "/test.txt"
    )
    let query = signer.presignedQuery(
      request,
      sessionToken: nil,
      seconds: 86400,
      time: "20130524T000000Z"
    )
    #expect(
      query
        == "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524"
        + "%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
        + "&X-Amz-SignedHeaders=host&X-Amz-Signature="
        + "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )
  }

  /// Amazon's documentation of S3, "Authenticating Requests: Using the Authorization Header".
  @Test(
    "Requests of S3 as documented",
    arguments: [
      (
        HTTPRequest(
          .get,
          origin: "https://examplebucket.s3.amazonaws.com",
          path: "/test.txt",
          headers: [HTTPHeader("Range", "bytes=0-9")]
        ), empty, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
      ),
      (
        HTTPRequest(
          .get,
          origin: "https://examplebucket.s3.amazonaws.com",
          path: "/",
          query: PercentEncoding.query([("lifecycle", "")])
        ), empty, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
      ),
      (
        HTTPRequest(
          .get,
          origin: "https://examplebucket.s3.amazonaws.com",
          path: "/",
          query: PercentEncoding.query([("prefix", "J"), ("max-keys", "2")])
        ), empty, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
      ),
    ]
  )
  func documented(_ request: HTTPRequest, _ payload: String, _ signature: String) {
    let signer = SigV4(
      accessKeyID: "AKIAIOSFODNN7EXAMPLE",
      secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      day: "20130524",
      region: "us-east-1"
    )
    var request = request
    request.headers += [
      HTTPHeader("x-amz-content-sha256", payload), HTTPHeader("x-amz-date", "20130524T000000Z"),
    ]
    let value = signer.authorization(request, payload: payload, time: "20130524T000000Z")
    #expect(value.hasSuffix("Signature=\(signature)"), "\(value)")
  }

  @Test("Values are squeezed, headers of one name joined, and a port of its own is signed")
  func canonical() {
    var spelled = HTTPRequest(.get, origin: "http://[::1]:9000", path: "/")
    spelled.headers = [
      HTTPHeader("x-amz-meta-a", "  a   b "), HTTPHeader("X-Amz-Meta-A", "c"),
      HTTPHeader("Content-Type", "text/plain"),
    ]
    var squeezed = spelled
    squeezed.headers = [
      HTTPHeader("Content-Type", "text/plain"), HTTPHeader("x-amz-meta-a", "a b,c"),
    ]
    let first = signer.authorization(spelled, payload: Self.empty, time: Self.time)
    #expect(first == signer.authorization(squeezed, payload: Self.empty, time: Self.time))
    #expect(first.contains("SignedHeaders=content-type;host;x-amz-meta-a,"))
    squeezed.origin = "http://[::1]"
    #expect(first != signer.authorization(squeezed, payload: Self.empty, time: Self.time))
    #expect(SigV4.host(of: spelled.origin) == "[::1]:9000")
  }

  @Test("A session token is part of what a presigned URL promises")
  func token() {
    let request = HTTPRequest(.get, origin: "https://h", path: "/k")
    func query(_ token: String?) -> String {
      signer.presignedQuery(request, sessionToken: token, seconds: 1, time: Self.time)
    }
    #expect(query("a/b+c").contains("&X-Amz-Security-Token=a%2Fb%2Bc&"))
    #expect(query("a").suffix(64) != query("b").suffix(64))
  }
}

@Suite("Percent-encoding")
struct PercentEncodingTests {
  @Test(
    "Only what SigV4 leaves stays, and everything comes back",
    arguments: [
      ("a b+c%/d", "a%20b%2Bc%25/d", "a%20b%2Bc%25%2Fd"),
      ("-._~AZaz09", "-._~AZaz09", "-._~AZaz09"),
      ("//./../", "//./../", "%2F%2F.%2F..%2F"),
      ("é e\u{301} 🙂", "%C3%A9%20e%CC%81%20%F0%9F%99%82", "%C3%A9%20e%CC%81%20%F0%9F%99%82"),
      (
        "!*'()&=?#\"\\\n", "%21%2A%27%28%29%26%3D%3F%23%22%5C%0A",
        "%21%2A%27%28%29%26%3D%3F%23%22%5C%0A"
      ),
    ]
  )
  func roundTrip(_ text: String, _ path: String, _ query: String) {
    #expect(PercentEncoding.path(text) == path)
    #expect(PercentEncoding.component(text) == query)
    #expect(PercentEncoding.decode(path)?.utf8.elementsEqual(text.utf8) == true)
    #expect(PercentEncoding.decode(query)?.utf8.elementsEqual(text.utf8) == true)
  }

  @Test("A query is sorted by what is sent, and a name alone gets its =")
  func query() {
    let parameters = [("uploadId", "a/b+c="), ("partNumber", "1"), ("uploads", ""), ("a b", "")]
    #expect(
      PercentEncoding.query(parameters)
        == "a%20b=&partNumber=1&uploadId=a%2Fb%2Bc%3D&uploads="
    )
  }

  @Test("In listings + is a blank", arguments: [("sp+ace%2B", "sp ace+"), ("a", "a")])
  func plus(_ text: String, _ decoded: String) {
    #expect(PercentEncoding.decode(text, plusIsSpace: true) == decoded)
  }

  @Test("What is cut off or no UTF-8 is refused", arguments: ["%", "%4", "%zz", "%ff", "a%C3"])
  func bad(_ text: String) {
    #expect(PercentEncoding.decode(text) == nil)
  }
}

@Suite("Times")
struct ServerTimeTests {
  @Test(
    "Every notation is the same moment",
    arguments: [
      (0, "19700101T000000Z", "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00Z"),
      (
        951_827_696_000, "20000229T123456Z", "Tue, 29 Feb 2000 12:34:56 GMT",
        "2000-02-29T12:34:56.000Z"
      ),
      (
        1_440_938_160_000, "20150830T123600Z", "Sun, 30 Aug 2015 12:36:00 GMT",
        "2015-08-30T12:36:00Z"
      ),
      (
        4_102_444_799_000, "20991231T235959Z", "Thu, 31 Dec 2099 23:59:59 GMT",
        "2099-12-31T23:59:59.0Z"
      ),
    ] as [(Int64, String, String, String)]
  )
  func notations(_ ms: Int64, _ basic: String, _ http: String, _ iso: String) {
    #expect(ServerTime.basic(ms) == basic)
    #expect(ServerTime.basic(ms + 999) == basic)
    #expect(ServerTime.parse(http: http) == ms)
    #expect(ServerTime.parse(iso: iso) == ms)
  }

  @Test("Parts of a second count")
  func fractions() {
    #expect(ServerTime.parse(iso: "1970-01-01T00:00:00.5Z") == 500)
    #expect(ServerTime.parse(iso: "1970-01-01T00:00:00.123456789Z") == 123)
  }

  @Test("Every day of 800 years comes back")
  func days() {
    for day in stride(from: Int64(0), to: 800 * 365, by: 1) {
      let text = ServerTime.basic(day * 86_400_000)
      let (year, month, date) = (
        text.prefix(4), text.dropFirst(4).prefix(2), text.dropFirst(6).prefix(2)
      )
      #expect(ServerTime.parse(iso: "\(year)-\(month)-\(date)T00:00:00Z") == day * 86_400_000)
    }
  }

  @Test(
    "What is no time is none",
    arguments: [
      "", "Z", "2015-08-30", "2015-13-30T12:36:00Z", "x-y-zT1:2:3Z", "2015-08-30T12:36:00+01:00",
    ]
  )
  func bad(_ text: String) {
    #expect(ServerTime.parse(iso: text) == nil)
    #expect(ServerTime.parse(http: text) == nil)
  }
}
