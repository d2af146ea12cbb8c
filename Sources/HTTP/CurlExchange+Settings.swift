import CCurl
import TransferModel

/// The settings of a handle, each with its reason.
extension CurlExchange {
  /// Makes a handle ready; it is fresh or was reset.
  /// - Throws: `ERR_CONFIG` for a `caFile` that cannot be used or a proxy libcurl does not take.
  func prepare(_ handle: UnsafeMutableRawPointer) throws(TransferError) {
    var settings = CurlSettings(handle)
    settings.set(CURLOPT_URL, request.url)
    setMethod(&settings)
    try setTrust(&settings, loop.trust)
    setProxy(&settings)
    setConnection(&settings)
    setCallbacks(&settings)
    setFields(&settings, userAgent: loop.userAgent)
    guard settings.failed == CURLE_OK else {
      throw TransferError(
        .config,
        "libcurl refuses a setting (\(String(cString: ccurl_easy_strerror(settings.failed))));"
          + " check the remote's address and proxy."
      )
    }
  }

  private func setMethod(_ settings: inout CurlSettings) {
    // What was signed is what is sent: no /../ is squeezed out of a key.
    settings.set(CURLOPT_PATH_AS_IS, 1)
    // HTTP/2 in 7.88 can call a truncated body complete, spins on uploads and costs more CPU.
    settings.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    // An answer without a status line is none.
    settings.set(CURLOPT_HTTP09_ALLOWED, 0)
    // Whoever asks follows redirects, with new signatures; and only ever to http and https.
    settings.set(CURLOPT_FOLLOWLOCATION, 0)
    settings.set(CURLOPT_PROTOCOLS_STR, "http,https")
    settings.set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
    // Bodies of refusals are wanted, and bytes as they are stored.
    settings.set(CURLOPT_FAILONERROR, 0)
    settings.set(CURLOPT_HTTP_TRANSFER_DECODING, 1)
    if request.method == .head { settings.set(CURLOPT_NOBODY, 1) }
    if request.body != nil {
      // For any method: streamed with an exact Content-Length, also of 0.
      settings.set(CURLOPT_UPLOAD, 1)
      settings.set(offset: CURLOPT_INFILESIZE_LARGE, body.length)
      settings.set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBuffer(body.length))
    }
    if request.method != .head { settings.set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
    settings.set(CURLOPT_BUFFERSIZE, receiveBuffer)
  }

  /// 128 KiB take half the CPU of 16 KiB for large bodies, as 256 do, but are mapped and unmapped for
  /// each, which small ones feel.
  private var receiveBuffer: Int {
    switch request.sink {
    case _ where request.lane != .bulk || hasSource: 16 << 10
    case .beginning: 64 << 10
    case .memory, .target: 128 << 10
    }
  }

  /// One send moves at most one buffer, and it is allocated per request: 1 GiB takes 0.77 s in
  /// pieces of 16 KiB, 0.4 s from 64 KiB on.
  ///
  /// A buffer that stays in the processor's cache takes a tenth less of it than one of 1 MiB.
  private static func uploadBuffer(_ length: Int64) -> Int {
    switch length {
    case ...(16 << 10): 16 << 10
    case ...(256 << 10): 64 << 10
    default: 256 << 10
    }
  }

  private func setTrust(
    _ settings: inout CurlSettings,
    _ trust: TrustStore
  ) throws(TransferError) {
    guard origin.isSecure || isProxySecure else { return }
    // Always, whatever a later default may be.
    settings.set(CURLOPT_SSL_VERIFYPEER, 1)
    settings.set(CURLOPT_SSL_VERIFYHOST, 2)
    settings.set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
    settings.set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
    settings.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    // With a folder of certificates, 7.88 parses all of them anew for each connection: 17 ms.
    settings.set(pointer: CURLOPT_CAPATH, nil)
    settings.set(pointer: CURLOPT_PROXY_CAPATH, nil)
    if let file = traffic.options.caFile {
      let both = try trust.path(adding: file)
      settings.set(CURLOPT_CAINFO, both)
      settings.set(CURLOPT_PROXY_CAINFO, both)
    }
  }

  private var isProxySecure: Bool {
    switch traffic.options.proxy {
    case .none: false
    case .url(let url): url.lowercased().hasPrefix("https://")
    case .environment: true
    }
  }

  private func setProxy(_ settings: inout CurlSettings) {
    switch traffic.options.proxy {
    case .environment: break
    case .none: settings.set(CURLOPT_PROXY, "")
    case .url(let url):
      settings.set(CURLOPT_PROXY, url)
      // What is configured holds, whatever no_proxy says.
      settings.set(CURLOPT_NOPROXY, "")
    }
    // The remote's header fields, its signature among them, are not for the proxy.
    settings.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    // Nor are the proxy's those of the answer.
    settings.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
  }

  private func setConnection(_ settings: inout CurlSettings) {
    // Without it each look at a handle calls sigaction(2) three times; SIGPIPE is ignored anyway.
    settings.set(CURLOPT_NOSIGNAL, 1)
    // Ends early without waiting for a name server, which would hold up all others.
    settings.set(CURLOPT_QUICK_EXIT, 1)
    let milliseconds = traffic.options.connectTimeout / .milliseconds(1)
    settings.set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(milliseconds)))
    // Finds out about peers that vanished behind a router.
    settings.set(CURLOPT_TCP_KEEPALIVE, 1)
    settings.set(CURLOPT_TCP_KEEPIDLE, 30)
    settings.set(CURLOPT_TCP_KEEPINTVL, 10)
    // Servers close idle connections after 5 s (S3) to 75 s, and a reuse that fails costs a repeat.
    settings.set(CURLOPT_MAXAGE_CONN, 30)
    // The cache of a handle's own would be empty each time: a new TLS connection takes 0.6 ms
    // of CPU with a session, 0.9 without.
    settings.set(pointer: CURLOPT_SHARE, UnsafeMutableRawPointer(loop.share))
    if traffic.options.isFresh { settings.set(CURLOPT_FRESH_CONNECT, 1) }
    settings.check(ccurl_keep_sockets(settings.handle, loop.sockets))
  }

  private func setCallbacks(_ settings: inout CurlSettings) {
    let me = Unmanaged.passUnretained(self).toOpaque()
    let handle = settings.handle
    // Counted in the callbacks; libcurl's meter would be called for every handle and turn.
    settings.set(CURLOPT_NOPROGRESS, 1)
    settings.set(pointer: CURLOPT_PRIVATE, me)
    settings.set(pointer: CURLOPT_WRITEDATA, me)
    settings.check(ccurl_set_bytes_callback(handle, CURLOPT_WRITEFUNCTION, Self.write))
    settings.set(pointer: CURLOPT_HEADERDATA, me)
    settings.check(ccurl_set_bytes_callback(handle, CURLOPT_HEADERFUNCTION, Self.header))
    settings.set(pointer: CURLOPT_PREREQDATA, me)
    settings.check(ccurl_set_prereq_callback(handle, Self.begin))
    settings.set(pointer: CURLOPT_READDATA, me)
    settings.check(ccurl_set_bytes_callback(handle, CURLOPT_READFUNCTION, Self.read))
    settings.set(pointer: CURLOPT_SEEKDATA, me)
    settings.check(ccurl_set_seek_callback(handle, Self.seek))
  }

  private func setFields(_ settings: inout CurlSettings, userAgent: String) {
    settings.set(CURLOPT_USERAGENT, userAgent)
    if request.body != nil {
      // 7.88 asks for 100-continue before every body: a server that ignores it costs a second.
      fields = ccurl_slist_append(fields, "Expect:")
    }
    for header in request.headers {
      // libcurl's way to send a field without a value.
      let line = header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)"
      fields = ccurl_slist_append(fields, line)
    }
    settings.set(pointer: CURLOPT_HTTPHEADER, UnsafeMutableRawPointer(fields))
  }
}

/// Sets options and remembers the first that was refused.
struct CurlSettings {
  let handle: UnsafeMutableRawPointer
  private(set) var failed = CURLE_OK

  init(_ handle: UnsafeMutableRawPointer) { self.handle = handle }

  mutating func set(_ option: CURLoption, _ value: Int) {
    check(ccurl_set_long(handle, option, value))
  }

  mutating func set(offset option: CURLoption, _ value: Int64) {
    check(ccurl_set_offset(handle, option, Int(value)))
  }

  mutating func set(_ option: CURLoption, _ value: String) {
    check(ccurl_set_string(handle, option, value))
  }

  mutating func set(pointer option: CURLoption, _ value: UnsafeMutableRawPointer?) {
    check(ccurl_set_pointer(handle, option, value))
  }

  mutating func check(_ code: CURLcode) {
    if failed == CURLE_OK { failed = code }
  }
}
