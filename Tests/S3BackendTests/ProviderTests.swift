import Backends
import Configuration
import Testing
import TransferModel

@testable import S3Backend

@Suite("Providers")
struct ProviderTests {
  @Test(
    "A server is told by what it says of itself",
    arguments: [
      (["Server": "MinIO"], .minio), (["Server": "SeaweedFS 8000GB 4.48"], .seaweedfs),
      (["Server": "Ceph Object Gateway (squid)"], .ceph), (["x-rgw-request-id": "1"], .ceph),
      (["Server": "rclone/v1.75.2"], .rclone),
      (
        ["Server": "AmazonS3", "Access-Control-Allow-Headers": "Accept, x-amz-meta-filename"],
        .rclone
      ),
      (["Server": "AmazonS3"], .other), ([:], .other), (["Server": "nginx"], .other),
    ] as [([String: String], Provider)]
  )
  func answers(_ headers: [String: String], _ provider: Provider) {
    #expect(Provider(answer: answer(403, headers)) == provider)
    let remote = makeRemote { $0.provider = .auto }
    #expect(remote.provider == nil)
    _ = remote.judge(answer(403, headers), to: remote.probe, nowMs: now)
    #expect(remote.provider == provider)
  }

  @Test("A proxy's answer tells nothing for good")
  func proxies() {
    let remote = makeRemote { $0.provider = .auto }
    let get = remote.request(.get, "k")
    _ = remote.judge(answer(503, ["Server": "MinIO"]), to: remote.probe, nowMs: now)
    _ = remote.judge(answer(403, ["Server": "squid"]), to: get, nowMs: now)
    #expect(remote.provider == nil)
    _ = remote.judge(answer(403, ["X-Amz-Request-Id": "1"]), to: get, nowMs: now)
    #expect(remote.provider == .other)
    _ = remote.judge(answer(200, ["Server": "SeaweedFS 4"]), to: get, nowMs: now)
    #expect(remote.provider == .seaweedfs)
    _ = remote.judge(answer(200, ["Server": "MinIO"]), to: remote.probe, nowMs: now)
    #expect(remote.provider == .seaweedfs)
  }

  @Test(
    "AWS and R2 are told by their host, and nothing else is",
    arguments: [
      ("s3.eu-west-1.amazonaws.com", .aws), ("b.s3.cn-north-1.amazonaws.com.cn", .aws),
      ("x.r2.cloudflarestorage.com", .r2), ("amazonaws.com.evil.example", nil),
      ("evilamazonaws.com", nil), ("127.0.0.1:9000", nil),
    ] as [(String, Provider?)]
  )
  func hosts(_ host: String, _ provider: Provider?) {
    #expect(Provider(host: host) == provider)
  }

  @Test(
    "Where a bucket is asked",
    arguments: [
      (nil, .auto, "bkt", nil, "https://bkt.s3.us-east-1.amazonaws.com", "", "us-east-1"),
      (nil, .auto, "bkt", "eu-west-1", "https://bkt.s3.eu-west-1.amazonaws.com", "", "eu-west-1"),
      (nil, .auto, "my.bkt", nil, "https://s3.us-east-1.amazonaws.com", "/my.bkt", "us-east-1"),
      (nil, .auto, "My_bkt", nil, "https://s3.us-east-1.amazonaws.com", "/My_bkt", "us-east-1"),
      (nil, .path, "bkt", nil, "https://s3.us-east-1.amazonaws.com", "/bkt", "us-east-1"),
      (
        nil, .auto, "bkt", "cn-north-1", "https://bkt.s3.cn-north-1.amazonaws.com.cn", "",
        "cn-north-1"
      ),
      (
        "https://s3.eu-west-1.amazonaws.com", .auto, "bkt", nil,
        "https://bkt.s3.eu-west-1.amazonaws.com", "", "eu-west-1"
      ),
      (
        "https://x.r2.cloudflarestorage.com", .auto, "bkt", nil,
        "https://bkt.x.r2.cloudflarestorage.com", "", "auto"
      ),
      ("http://[::1]:9000", .auto, "bkt", nil, "http://[::1]:9000", "/bkt", "us-east-1"),
      ("http://h:9000", .virtual, "bkt", nil, "http://bkt.h:9000", "", "us-east-1"),
    ] as [(String?, S3Settings.Addressing, String, String?, String, String, String)]
  )
  func endpoint(
    _ url: String?,
    _ addressing: S3Settings.Addressing,
    _ bucket: String,
    _ region: String?,
    _ origin: String,
    _ path: String,
    _ signed: String
  ) {
    let remote = makeRemote {
      $0.endpoint = url
      $0.provider = .auto
      $0.addressing = addressing
      $0.bucket = bucket
      $0.region = region
    }
    #expect(remote.endpoint.origin == origin)
    #expect(remote.endpoint.path == path)
    #expect(remote.endpoint.region == signed)
    #expect(remote.endpoint.path(of: "a b//../c") == path + "/a%20b//../c")
    #expect(remote.endpoint.bucketPath == (path.isEmpty ? "/" : path))
  }
}
