import Testing

@testable import S3Backend

@Suite("XML")
struct XMLNodeTests {
  private func parse(_ text: String) -> XMLNode? { XMLNode.parse(Array(text.utf8)) }

  @Test("Namespaces, attributes, comments and instructions mean nothing")
  func structure() throws {
    let root = try #require(
      parse(
        """
        \u{FEFF}
          <?xml version="1.0" encoding="UTF-8"?>
        <!-- a > b -->
        <s3:A xmlns:s3="http://x/?a>b" b='"'><s3:B>1</s3:B><C/><B >2<!-- - --></B><?p ?></s3:A >
        <!-- end -->
        """
      )
    )
    #expect(root.name == "A")
    #expect(root.all("B").map(\.text) == ["1", "2"])
    #expect(root["C"]?.text == "")
    #expect(root["D"] == nil)
  }

  @Test(
    "Text is what it stands for",
    arguments: [
      ("&lt;&gt;&amp;&quot;&apos;", "<>&\"'"), ("&#65;&#x42;&#x1F642;", "AB🙂"),
      ("<![CDATA[<a>&amp;]]>b", "<a>&amp;b"), (" a\n", " a\n"), ("é", "é"), ("&#0013;", "\r"),
    ]
  )
  func text(_ inside: String, _ text: String) throws {
    #expect(try #require(parse("<K>\(inside)</K>")).text == text)
  }

  @Test(
    "Text that is written comes back",
    arguments: ["a&b<c>d\"e'f", "\u{D}\n", "", "é🙂", "]]>"]
  )
  func escaping(_ text: String) {
    #expect(parse("<K>\(XMLNode.escape(text))</K>")?.text == text)
  }

  @Test(
    "What is no document is none",
    arguments: [
      "", " ", "text", "<A>", "<A></B>", "<A/><B/>", "<A/>x", "<A", "<A b=\"", "</A>",
      "<A><B></A></B>",
      "<A>&unknown;</A>", "<A>&#xD800;</A>", "<A>&#;</A>", "<A>&</A>",
      "<A>&aaaaaaaaaaaaaaaaaaaaaaaa;</A>",
      "<!DOCTYPE A [<!ENTITY x \"y\">]><A>&x;</A>", "<A><![CDATA[x</A>", "<A><!-- </A>", "<?x <A/>",
      "<></>", "<A/ >", "<A <B/>/>", "<:/>",
    ]
  )
  func bad(_ text: String) {
    #expect(parse(text) == nil)
  }

  @Test("Bytes that are no UTF-8, and nesting deeper than S3's, are refused")
  func hostile() {
    #expect(XMLNode.parse(Array("<A>".utf8) + [0xFF] + Array("</A>".utf8)) == nil)
    let deep = String(repeating: "<A>", count: 100_000)
    #expect(parse(deep) == nil)
    let levels = { String(repeating: "<A>", count: $0) + String(repeating: "</A>", count: $0) }
    #expect(parse(levels(16)) != nil)
    #expect(parse(levels(17)) == nil)
  }

  /// Whatever comes, there is an answer and no trap: cut, doubled and damaged documents.
  @Test("Damaged documents are parsed or refused")
  func damaged() {
    let document = Array(
      """
      <?xml version="1.0"?><ListBucketResult xmlns="x"><EncodingType>url</EncodingType><Contents><Key>a&amp;b\
      </Key><Size>1</Size></Contents><!-- c --><CommonPrefixes><Prefix><![CDATA[p/]]></Prefix>\
      </CommonPrefixes><IsTruncated>false</IsTruncated></ListBucketResult>
      """.utf8
    )
    #expect(ListedPage(document) != nil)
    for end in document.indices { #expect(XMLNode.parse(Array(document[..<end])) == nil) }
    var state = UInt64(0x9E37_79B9_7F4A_7C15)
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    let pieces = Array("<>/&;![]-?\"'=#x0A".utf8)
    var parsed = 0
    for _ in 0..<2_000 {
      var copy = document
      for _ in 0...random(4) {
        let at = random(copy.count)
        switch random(3) {
        case 0: copy[at] = pieces[random(pieces.count)]
        case 1: copy.remove(at: at)
        default: copy.insert(contentsOf: Array(copy[random(at + 1)...at]), at: at)
        }
      }
      if XMLNode.parse(copy) != nil { parsed += 1 }
      _ = ListedPage(copy)
      _ = ListedParts(copy)
    }
    #expect(parsed > 10)
  }
}

@Suite("Answers")
struct S3AnswerTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test("A page of keys: names encoded as they say they are")
  func listing() throws {
    let body = """
      <?xml version="1.0" encoding="UTF-8"?>
      <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>\
      <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>\
      <Contents><Key>sp+ace%2B%0A.txt</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>\
      <ETag>&quot;e&quot;</ETag><Size>434234</Size></Contents>\
      <Contents><Key>e%CC%81</Key><Size>0</Size></Contents>\
      <CommonPrefixes><Prefix>f+older/</Prefix></CommonPrefixes>\
      <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>\
      </ListBucketResult>
      """
    let page = try #require(ListedPage(bytes(body)))
    #expect(
      page.keys == [
        .init(key: "sp ace+\n.txt", size: 434_234, modifiedMs: 1_255_369_830_000),
        .init(key: "e\u{301}", size: 0, modifiedMs: nil),
      ]
    )
    #expect(page.prefixes == ["f older/"])
    #expect(page.next == "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=")
    let plain = "<ListBucketResult><Contents><Key>a+b%20</Key></Contents></ListBucketResult>"
    #expect(ListedPage(bytes(plain))?.keys.first?.key == "a+b%20")
  }

  @Test("A page that leads to itself is none")
  func selfReference() {
    func page(_ next: String) -> ListedPage? {
      ListedPage(
        bytes(
          "<ListBucketResult><IsTruncated>true</IsTruncated><ContinuationToken>a"
            + "</ContinuationToken><NextContinuationToken>\(next)</NextContinuationToken>"
            + "</ListBucketResult>"
        )
      )
    }
    #expect(page("b")?.next == "b")
    #expect(page("a") == nil)
  }

  @Test(
    "A page that is cut off by its server, or is something else, is none",
    arguments: [
      "<Error><Code>x</Code></Error>", "<ListBucketResult><Contents/></ListBucketResult>",
      "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "<html/>",
    ]
  )
  func badListing(_ text: String) {
    #expect(ListedPage(bytes(text)) == nil)
  }

  @Test("A list of parts may leave IsTruncated out, as rclone's does")
  func parts() throws {
    let part = "<Part><PartNumber>2</PartNumber><ETag>\"b\"</ETag><Size>5</Size></Part>"
    let last = try #require(
      ListedParts(bytes("<ListPartsResult>\(part)</ListPartsResult>"))
    )
    #expect(last.parts == [2: .init(part: .init(etag: "\"b\""), size: 5)])
    #expect(last.next == nil)
    let more = "<ListPartsResult>\(part)<IsTruncated>true</IsTruncated></ListPartsResult>"
    #expect(ListedParts(bytes(more))?.next == 2)
    let marked =
      "<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>7"
      + "</NextPartNumberMarker></ListPartsResult>"
    #expect(ListedParts(bytes(marked))?.next == 7)
    #expect(ListedParts(bytes("<ListPartsResult><Part/></ListPartsResult>")) == nil)
  }

  @Test("Only a parsed result with an ETag is a success")
  func results() {
    let completed =
      "\n\n  <CompleteMultipartUploadResult><ETag>&quot;e-2&quot;</ETag></CompleteMultipartUploadResult>"
    #expect(S3Answer.completedETag(bytes(completed)) == "\"e-2\"")
    for text in ["", "  ", "<Error/>", "<CompleteMultipartUploadResult/>", "<CopyObjectResult/>"] {
      #expect(S3Answer.completedETag(bytes(text)) == nil)
      #expect(S3Answer.isCopied(bytes(text)) == (text == "<CopyObjectResult/>"))
    }
    let created =
      "<InitiateMultipartUploadResult><UploadId>a/b+c=</UploadId></InitiateMultipartUploadResult>"
    #expect(S3Answer.uploadID(bytes(created)) == "a/b+c=")
    let rclone = "<InitiateMultipartUpload><UploadId>u</UploadId></InitiateMultipartUpload>"
    #expect(S3Answer.uploadID(bytes(rclone)) == "u")
    #expect(S3Answer.uploadID(bytes("<InitiateMultipartUploadResult/>")) == nil)
  }

  @Test("The completion names parts in order, with what each was checked against")
  func completion() {
    let body = S3Answer.completion([
      UploadedPart(etag: "\"a\"", crc32c: "4waSgw=="), UploadedPart(etag: "b<", crc32c: nil),
    ])
    #expect(
      String(decoding: body, as: UTF8.self)
        == "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        + "<Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag>"
        + "<ChecksumCRC32C>4waSgw==</ChecksumCRC32C></Part>"
        + "<Part><PartNumber>2</PartNumber><ETag>b&lt;</ETag></Part></CompleteMultipartUpload>"
    )
  }
}
